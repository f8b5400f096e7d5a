package core

import (
	"context"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
	"github.com/miniapi-dev/miniapi/pkg/registry/warnings"
)

// endpointsKind is the row of endpoints in the server's table of kinds.
var endpointsKind = registry.Kind{
	Resource:   "endpoints",
	ShortNames: []string{"ep"},
	Namespaced: true,
	Object:     &corev1.Endpoints{}, List: &corev1.EndpointsList{},
	Defaults:       []registry.Default{registry.DefaultOf(defaultEndpoints)},
	StoragePrefix:  "services/endpoints",
	CreateOnUpdate: true,
	Printer:        &endpointsColumns,
	Hooks: registry.HooksOf[*corev1.Endpoints]{
		Validate:       validateEndpoints,
		ValidateUpdate: validateEndpointsUpdate,
		Warnings:       endpointsWarnings,
	},
}

func defaultEndpoints(e *corev1.Endpoints) {
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			defaults.Zero(&e.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

// validateEndpoints checks new endpoints.
func validateEndpoints(o *corev1.Endpoints) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain)
	f.Merge(endpointSubsets(o.Subsets))
	return f.Errs
}

func validateEndpointsUpdate(o, old *corev1.Endpoints) field.ErrorList {
	f := validation.Updated(&o.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.Created(&o.ObjectMeta, validation.Namespaced, apivalidation.NameIsDNSSubdomain).Errs, endpointSubsetsUpdate(o.Subsets, old.Subsets))
	return f.Errs
}

func endpointSubsets(subsets []corev1.EndpointSubset) field.ErrorList {
	var f validation.Findings
	for i, s := range subsets {
		path := field.NewPath("subsets").Index(i)
		f.AddIf(len(s.Addresses)+len(s.NotReadyAddresses) == 0,
			field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
		for j := range s.Addresses {
			f.Merge(endpointAddress(path.Child("addresses").Index(j), &s.Addresses[j]))
		}
		for j := range s.NotReadyAddresses {
			f.Merge(endpointAddress(path.Child("notReadyAddresses").Index(j), &s.NotReadyAddresses[j]))
		}
		for j, port := range s.Ports {
			path := path.Child("ports").Index(j)
			if port.Name != "" {
				f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("name"), port.Name))
			} else {
				f.AddIf(len(s.Ports) > 1, field.Required(path.Child("name"), ""))
			}
			f.Merge(validation.PortNumber(path.Child("port"), port.Port))
			f.Merge(validation.RequiredOneOf(path.Child("protocol"), port.Protocol, validation.Protocols...))
			if port.AppProtocol != nil {
				f.Merge(validation.Qualified(path.Child("appProtocol"), *port.AppProtocol))
			}
		}
	}
	return f.Errs
}

// endpointSubsetsUpdate doesn't check subsets that stay: an earlier server may have stored what is invalid now.
func endpointSubsetsUpdate(subsets, old []corev1.EndpointSubset) field.ErrorList {
	if apiequality.Semantic.DeepEqual(subsets, old) {
		return nil
	}
	return endpointSubsets(subsets)
}

func endpointAddress(path *field.Path, a *corev1.EndpointAddress) field.ErrorList {
	f := validation.Findings{Errs: validation.LegacyIP(path.Child("ip"), a.IP, nil)}
	if a.Hostname != "" {
		f.Merge(validation.Follows(utilvalidation.IsDNS1123Label, path.Child("hostname"), a.Hostname))
	}
	if a.NodeName != nil {
		f.Merge(validation.Follows(validation.ObjectName, path.Child("nodeName"), *a.NodeName))
	}
	f.Merge(validation.EndpointIP(path.Child("ip"), a.IP))
	return f.Errs
}

// endpointsColumns makes the rows of kubectl get. They show the first ready addresses.
var endpointsColumns = printers.Of(
	[]printers.Column{printers.NameColumn, printers.Text("Endpoints", printers.Doc(corev1.Endpoints{}, "subsets")), printers.AgeColumn},
	func(e *corev1.Endpoints) []any {
		addresses := printers.None
		if len(e.Subsets) > 0 {
			addresses = printers.First(3, endpointAddresses(e.Subsets), ",")
		}
		return []any{e.Name, addresses, printers.Since(e.CreationTimestamp)}
	})

// endpointAddresses returns each ready address with each of its ports. An address of a headless service may have no
// port.
func endpointAddresses(subsets []corev1.EndpointSubset) []string {
	var addresses []string
	for _, subset := range subsets {
		if len(subset.Ports) == 0 {
			for _, address := range subset.Addresses {
				addresses = append(addresses, address.IP)
			}
		}
		for _, port := range subset.Ports {
			for _, address := range subset.Addresses {
				addresses = append(addresses, net.JoinHostPort(address.IP, strconv.Itoa(int(port.Port))))
			}
		}
	}
	return addresses
}

// endpointsWarnings returns the warnings of endpoints. Endpoints of the endpoints controller get none, because
// their addresses are always well-formed.
func endpointsWarnings(_ context.Context, e, _ *corev1.Endpoints) []string {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == "endpoint-controller" {
		return nil
	}
	var l warnings.List
	for i, subset := range e.Subsets {
		path := field.NewPath("subsets").Index(i)
		for j, address := range subset.Addresses {
			l.IP(path.Child("addresses").Index(j).Child("ip"), address.IP)
		}
		for j, address := range subset.NotReadyAddresses {
			l.IP(path.Child("notReadyAddresses").Index(j).Child("ip"), address.IP)
		}
	}
	return l
}
