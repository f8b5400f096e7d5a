package discovery

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilsnet "k8s.io/utils/net"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// endpointSliceKind is the row of endpointslices in the server's table of kinds.
var endpointSliceKind = registry.Kind{
	Resource:   "endpointslices",
	Namespaced: true,
	Object:     &discoveryv1.EndpointSlice{}, List: &discoveryv1.EndpointSliceList{},
	Defaults:   []registry.Default{registry.DefaultOf(defaultEndpointSlice), registry.DefaultOf(defaultEndpointSliceV1beta1)},
	Generation: true,
	Printer:    &endpointSliceColumns,
	Hooks: registry.HooksOf[*discoveryv1.EndpointSlice]{
		PrepareForCreate: func(ctx context.Context, s *discoveryv1.EndpointSlice) { dropTopology(ctx, s, nil) },
		PrepareForUpdate: dropTopology,
		SpecChanged:      sliceChanged,
		Validate:         validateEndpointSlice,
		ValidateUpdate:   validateEndpointSliceUpdate,
		Warnings:         endpointSliceWarnings,
	},
	Gated: []registry.Gate{registry.GateOf[discoveryv1.EndpointSlice]("PreferSameTrafficDistribution", "Endpoints.Hints.ForNodes")},
}

func defaultEndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		defaults.Pointer(&s.Ports[i].Name, "")
		defaults.Pointer(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func defaultEndpointSliceV1beta1(s *discoveryv1beta1.EndpointSlice) {
	for i := range s.Ports {
		defaults.Pointer(&s.Ports[i].Name, "")
		defaults.Pointer(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// The limits of an EndpointSlice (KEP-752).
const (
	maxSliceEndpoints = 1000
	maxSlicePorts     = 20000
	maxSliceTopology  = 16
	maxSliceHints     = 8
)

// validateEndpointSlice checks a new slice.
func validateEndpointSlice(o *discoveryv1.EndpointSlice) field.ErrorList {
	return validateEndpointSliceUpdate(o, &discoveryv1.EndpointSlice{})
}

func validateEndpointSliceUpdate(o, old *discoveryv1.EndpointSlice) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(validation.RequiredOneOf(field.NewPath("addressType"), o.AddressType,
		discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6).MarkCoveredByDeclarative())
	f.Merge(slicePorts(field.NewPath("ports"), o.Ports))
	// Endpoints that older versions of Kubernetes have stored stay valid. The comparison is last, because it is slow.
	if errs := sliceEndpoints(field.NewPath("endpoints"), o); len(errs) > 0 && !apiequality.Semantic.DeepEqual(o.Endpoints, old.Endpoints) {
		f.Merge(errs)
	}
	return f.Errs
}

func sliceEndpoints(path *field.Path, o *discoveryv1.EndpointSlice) field.ErrorList {
	if n := len(o.Endpoints); n > maxSliceEndpoints {
		return field.ErrorList{field.TooMany(path, n, maxSliceEndpoints)}
	}
	var f validation.Findings
	for i := range o.Endpoints {
		f.Merge(sliceEndpoint(path.Index(i), &o.Endpoints[i], o.AddressType))
	}
	return f.Errs
}

func sliceEndpoint(path *field.Path, e *discoveryv1.Endpoint, family discoveryv1.AddressType) field.ErrorList {
	var f validation.Findings
	for i, a := range e.Addresses {
		f.Merge(sliceAddress(path.Child("addresses"), i, a, family))
	}
	if e.NodeName != nil {
		f.Merge(validation.Follows(validation.ObjectName, path.Child("nodeName"), *e.NodeName))
	}
	topology := path.Child("deprecatedTopology")
	f.Merge(validation.Few(topology, len(e.DeprecatedTopology), maxSliceTopology))
	f.Merge(metav1validation.ValidateLabels(e.DeprecatedTopology, topology))
	if e.Hostname != nil {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("hostname"), *e.Hostname))
	}
	if e.Hints != nil {
		f.Merge(sliceHints(path.Child("hints"), e.Hints))
	}
	return f.Errs
}

// sliceAddress checks the address with the index i. Only an IPv6 address must be in canonical form.
func sliceAddress(addresses *field.Path, i int, a string, family discoveryv1.AddressType) field.ErrorList {
	path := addresses.Index(i)
	var f validation.Findings
	switch family {
	case discoveryv1.AddressTypeFQDN:
		return utilvalidation.IsFullyQualifiedDomainName(path, a)
	case discoveryv1.AddressTypeIPv4:
		f.Errs = validation.LegacyIP(path, a, nil)
	case discoveryv1.AddressTypeIPv6:
		f.Errs = utilvalidation.IsValidIP(path, a)
	default:
		return nil
	}
	if len(f.Errs) > 0 {
		return f.Errs
	}
	v6 := utilsnet.IsIPv6String(a)
	f.AddIf(v6 != (family == discoveryv1.AddressTypeIPv6), field.Invalid(addresses, a, fmt.Sprintf("must be an %s address", family)))
	f.Merge(validation.EndpointIP(path, a))
	return f.Errs
}

func sliceHints(path *field.Path, hints *discoveryv1.EndpointHints) field.ErrorList {
	var f validation.Findings
	zones, nodes := path.Child("forZones"), path.Child("forNodes")
	if errs := validation.Few(zones, len(hints.ForZones), maxSliceHints); len(errs) > 0 {
		return errs
	}
	for i, zone := range hints.ForZones {
		f.AddIf(slices.Contains(hints.ForZones[:i], zone), field.Duplicate(zones.Index(i).Child("name"), zone.Name))
		f.Merge(validation.Follows(utilvalidation.IsValidLabelValue, zones.Index(i).Child("name"), zone.Name))
	}
	if errs := validation.Few(nodes, len(hints.ForNodes), maxSliceHints); len(errs) > 0 {
		return append(f.Errs, errs...)
	}
	for i, node := range hints.ForNodes {
		f.AddIf(slices.Contains(hints.ForNodes[:i], node), field.Duplicate(nodes.Index(i).Child("name"), node.Name))
		f.Merge(validation.Follows(validation.ObjectName, nodes.Index(i).Child("name"), node.Name))
	}
	return f.Errs
}

// slicePorts checks the ports of a slice. As in kube-apiserver, the number of a port isn't checked.
func slicePorts(path *field.Path, ports []discoveryv1.EndpointPort) field.ErrorList {
	if len(ports) > maxSlicePorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxSlicePorts)}
	}
	var f validation.Findings
	var names []string
	for i, port := range ports {
		path := path.Index(i)
		name := ptr.Deref(port.Name, "")
		if name != "" {
			f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("name"), name))
		}
		f.AddIf(slices.Contains(names, name), field.Duplicate(path.Child("name"), name))
		names = append(names, name)
		f.Merge(validation.OneOf(path.Child("protocol"), ptr.Deref(port.Protocol, ""), validation.Protocols...))
		if port.AppProtocol != nil {
			f.Merge(validation.Qualified(path.Child("appProtocol"), *port.AppProtocol))
		}
	}
	return f.Errs
}

// sliceChanged reports whether the generation of an EndpointSlice increases. A change of labels counts too, because
// a label names the service.
func sliceChanged(s, old *discoveryv1.EndpointSlice) bool {
	return registry.DesiredStateDiffers(s, old) || !apiequality.Semantic.DeepEqual(s.Labels, old.Labels)
}

// dropTopology drops the field topology of v1beta1 from a write through v1, if the write changes the endpoints. If
// the topology of an endpoint names a node, and the topology of a stored endpoint names the same node, dropTopology
// first moves the name to the field nodeName of v1.
func dropTopology(ctx context.Context, s, old *discoveryv1.EndpointSlice) {
	if registry.RequestVersion(ctx) == discoveryv1beta1.SchemeGroupVersion {
		return
	}
	known := map[string]bool{}
	if old != nil {
		if apiequality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
			return
		}
		for _, e := range old.Endpoints {
			known[e.DeprecatedTopology[corev1.LabelHostname]] = true
		}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		node, ok := e.DeprecatedTopology[corev1.LabelHostname]
		if e.NodeName == nil && ok && node != "" && known[node] && len(apivalidation.NameIsDNSSubdomain(node, false)) == 0 {
			e.NodeName = &node
		}
		e.DeprecatedTopology = nil
	}
}

// endpointSliceColumns makes the rows of kubectl get. They show the first ports and addresses.
var endpointSliceColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("AddressType", printers.Doc(discoveryv1.EndpointSlice{}, "addressType")),
		printers.Text("Ports", printers.Doc(discoveryv1.EndpointSlice{}, "ports")),
		printers.Text("Endpoints", printers.Doc(discoveryv1.EndpointSlice{}, "endpoints")),
		printers.AgeColumn,
	},
	func(s *discoveryv1.EndpointSlice) []any {
		var ports, addresses []string
		for _, port := range s.Ports {
			shown := ptr.Deref(port.Name, "*")
			if port.Port != nil {
				shown = strconv.Itoa(int(*port.Port))
			}
			ports = append(ports, shown)
		}
		for _, endpoint := range s.Endpoints {
			addresses = append(addresses, endpoint.Addresses...)
		}
		return []any{
			s.Name, string(s.AddressType), cmp.Or(printers.First(3, ports, ","), printers.Unset),
			cmp.Or(printers.First(3, addresses, ","), printers.Unset),
			printers.Since(s.CreationTimestamp),
		}
	})

// endpointSliceWarnings returns the warnings of an EndpointSlice. Addresses in EndpointSlices of Kubernetes'
// controllers get none, because these controllers write only well-formed addresses.
func endpointSliceWarnings(_ context.Context, s, old *discoveryv1.EndpointSlice) []string {
	var l warnings.List
	if s.AddressType == discoveryv1.AddressTypeFQDN {
		if old == nil {
			// kube-apiserver's path begins with "spec" too, although an EndpointSlice has no spec.
			l.At(warnings.SpecPath.Child("addressType"), "FQDN endpoints are deprecated")
		}
		return l
	}
	switch s.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return l
	}
	for i, endpoint := range s.Endpoints {
		for j, address := range endpoint.Addresses {
			l.IP(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), address)
		}
	}
	return l
}
