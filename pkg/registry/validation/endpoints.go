package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"
)

// Endpoints checks new endpoints.
func Endpoints(o *corev1.Endpoints) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(endpointSubsets(o, nil))
	return f.Errs
}

// EndpointsUpdate checks endpoints that replace others.
func EndpointsUpdate(o, old *corev1.Endpoints) field.ErrorList {
	f := Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain).Errs, endpointSubsets(o, old))
	return f.Errs
}

func endpointSubsets(o, old *corev1.Endpoints) field.ErrorList {
	var f Findings
	var stored []string
	if old != nil {
		for _, s := range old.Subsets {
			for _, a := range slices.Concat(s.Addresses, s.NotReadyAddresses) {
				stored = append(stored, a.IP)
			}
		}
	}
	for i, s := range o.Subsets {
		path := field.NewPath("subsets").Index(i)
		f.AddIf(len(s.Addresses)+len(s.NotReadyAddresses) == 0,
			field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
		for j := range s.Addresses {
			f.Merge(endpointAddress(path.Child("addresses").Index(j), &s.Addresses[j], stored))
		}
		for j := range s.NotReadyAddresses {
			f.Merge(endpointAddress(path.Child("notReadyAddresses").Index(j), &s.NotReadyAddresses[j], stored))
		}
		for j, port := range s.Ports {
			path := path.Child("ports").Index(j)
			if port.Name != "" {
				f.Merge(Follows(utilvalidation.IsDNS1123Label, path.Child("name"), port.Name))
			} else {
				f.AddIf(len(s.Ports) > 1, field.Required(path.Child("name"), ""))
			}
			f.Merge(PortNumber(path.Child("port"), port.Port))
			f.Merge(RequiredOneOf(path.Child("protocol"), port.Protocol, Protocols...))
			if port.AppProtocol != nil {
				f.Merge(Qualified(path.Child("appProtocol"), *port.AppProtocol))
			}
		}
	}
	return f.Errs
}

func endpointAddress(path *field.Path, a *corev1.EndpointAddress, stored []string) field.ErrorList {
	f := Findings{LegacyIP(path.Child("ip"), a.IP, stored)}
	if a.Hostname != "" {
		f.Merge(Follows(utilvalidation.IsDNS1123Label, path.Child("hostname"), a.Hostname))
	}
	if a.NodeName != nil {
		f.Merge(Follows(Named(apivalidation.NameIsDNSSubdomain), path.Child("nodeName"), *a.NodeName))
	}
	f.Merge(EndpointIP(path.Child("ip"), a.IP))
	return f.Errs
}

// The most that an EndpointSlice holds (KEP-752).
const (
	maxSliceEndpoints = 1000
	maxSliceAddresses = 100
	maxSlicePorts     = 20000
	maxSliceTopology  = 16
	maxSliceHints     = 8
)

// EndpointSlice checks a new slice.
func EndpointSlice(o *discoveryv1.EndpointSlice) field.ErrorList { return endpointSlice(o, nil) }

func endpointSlice(o *discoveryv1.EndpointSlice, stored []string) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(RequiredOneOf(field.NewPath("addressType"), o.AddressType,
		discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6))
	path := field.NewPath("endpoints")
	if n := len(o.Endpoints); n > maxSliceEndpoints {
		f.Add(field.TooMany(path, n, maxSliceEndpoints))
	} else {
		for i := range o.Endpoints {
			f.Merge(sliceEndpoint(path.Index(i), &o.Endpoints[i], o.AddressType, stored))
		}
	}
	f.Merge(slicePorts(field.NewPath("ports"), o.Ports))
	return f.Errs
}

// EndpointSliceUpdate checks a slice that replaces another.
func EndpointSliceUpdate(o, old *discoveryv1.EndpointSlice) field.ErrorList {
	var stored []string
	for _, e := range old.Endpoints {
		stored = append(stored, e.Addresses...)
	}
	f := Findings{endpointSlice(o, stored)}
	f.Merge(Unchanged(field.NewPath("addressType"), o.AddressType, old.AddressType))
	return f.Errs
}

func sliceEndpoint(path *field.Path, e *discoveryv1.Endpoint, family discoveryv1.AddressType, stored []string) field.ErrorList {
	var f Findings
	addresses := path.Child("addresses")
	f.AddIf(len(e.Addresses) == 0, field.Required(addresses, "must contain at least 1 address"))
	f.AddIf(len(e.Addresses) > maxSliceAddresses, field.TooMany(addresses, len(e.Addresses), maxSliceAddresses))
	for i, a := range e.Addresses {
		switch family {
		case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
			if errs := LegacyIP(addresses.Index(i), a, stored); len(errs) > 0 {
				f.Merge(errs)
				continue
			}
			v6 := utilsnet.IsIPv6String(a)
			f.AddIf(v6 != (family == discoveryv1.AddressTypeIPv6), field.Invalid(addresses, a, fmt.Sprintf("must be an %s address", family)))
			f.Merge(EndpointIP(addresses.Index(i), a))
		case discoveryv1.AddressTypeFQDN:
			f.Merge(utilvalidation.IsFullyQualifiedDomainName(addresses.Index(i), a))
		}
	}
	if e.NodeName != nil {
		f.Merge(Follows(Named(apivalidation.NameIsDNSSubdomain), path.Child("nodeName"), *e.NodeName))
	}
	topology := path.Child("deprecatedTopology")
	f.AddIf(len(e.DeprecatedTopology) > maxSliceTopology, field.TooMany(topology, len(e.DeprecatedTopology), maxSliceTopology))
	f.Merge(metav1validation.ValidateLabels(e.DeprecatedTopology, topology))
	if e.Hostname != nil {
		f.Merge(Follows(utilvalidation.IsDNS1123Label, path.Child("hostname"), *e.Hostname))
	}
	if e.Hints != nil {
		f.Merge(sliceHints(path.Child("hints"), e.Hints))
	}
	return f.Errs
}

func sliceHints(path *field.Path, hints *discoveryv1.EndpointHints) field.ErrorList {
	var f Findings
	zones, nodes := path.Child("forZones"), path.Child("forNodes")
	f.AddIf(len(hints.ForZones) > maxSliceHints, field.TooMany(zones, len(hints.ForZones), maxSliceHints))
	for i, zone := range hints.ForZones {
		f.AddIf(slices.Contains(hints.ForZones[:i], zone), field.Duplicate(zones.Index(i).Child("name"), zone.Name))
		f.Merge(Follows(utilvalidation.IsValidLabelValue, zones.Index(i).Child("name"), zone.Name))
	}
	f.AddIf(len(hints.ForNodes) > maxSliceHints, field.TooMany(nodes, len(hints.ForNodes), maxSliceHints))
	for i, node := range hints.ForNodes {
		f.AddIf(slices.Contains(hints.ForNodes[:i], node), field.Duplicate(nodes.Index(i).Child("name"), node.Name))
		f.Merge(Follows(Named(apivalidation.NameIsDNSSubdomain), nodes.Index(i).Child("name"), node.Name))
	}
	return f.Errs
}

func slicePorts(path *field.Path, ports []discoveryv1.EndpointPort) field.ErrorList {
	if len(ports) > maxSlicePorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxSlicePorts)}
	}
	var f Findings
	var names []string
	for i, port := range ports {
		path := path.Index(i)
		name := ptr.Deref(port.Name, "")
		if name != "" {
			f.Merge(Follows(utilvalidation.IsDNS1123Label, path.Child("name"), name))
		}
		f.AddIf(slices.Contains(names, name), field.Duplicate(path.Child("name"), name))
		names = append(names, name)
		if port.Port != nil {
			f.Merge(PortNumber(path.Child("port"), *port.Port))
		}
		f.Merge(OneOf(path.Child("protocol"), ptr.Deref(port.Protocol, ""), Protocols...))
		if port.AppProtocol != nil {
			f.Merge(Qualified(path.Child("appProtocol"), *port.AppProtocol))
		}
	}
	return f.Errs
}
