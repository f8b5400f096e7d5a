package networking

import (
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/miniapi-dev/miniapi/pkg/registry/conversion"
)

// conversions convert Ingresses. In v1, the default backend and the service of a backend are in other fields than
// in the v1beta1 versions of networking.k8s.io and extensions.
func conversions() []conversion.Function {
	return []conversion.Function{
		conversion.Renamed(ingressFromV1beta1),
		conversion.Renamed(ingressToV1beta1),
		conversion.Different(func(in *extensionsv1beta1.Ingress, out *networkingv1.Ingress) error {
			var ingress networkingv1beta1.Ingress
			if err := conversion.CopyFields(in, &ingress); err != nil {
				return err
			}
			if err := conversion.CopyFields(&ingress, out); err != nil {
				return err
			}
			return ingressFromV1beta1(&ingress, out)
		}),
		conversion.Different(func(in *networkingv1.Ingress, out *extensionsv1beta1.Ingress) error {
			var ingress networkingv1beta1.Ingress
			if err := conversion.CopyFields(in, &ingress); err != nil {
				return err
			}
			if err := ingressToV1beta1(in, &ingress); err != nil {
				return err
			}
			return conversion.CopyFields(&ingress, out)
		}),
	}
}

func ingressFromV1beta1(in *networkingv1beta1.Ingress, out *networkingv1.Ingress) error {
	if b := in.Spec.Backend; b != nil {
		out.Spec.DefaultBackend = &networkingv1.IngressBackend{Resource: b.Resource, Service: serviceBackend(b)}
	}
	for i, rule := range in.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			out.Spec.Rules[i].HTTP.Paths[j].Backend.Service = serviceBackend(&rule.HTTP.Paths[j].Backend)
		}
	}
	return nil
}

func ingressToV1beta1(in *networkingv1.Ingress, out *networkingv1beta1.Ingress) error {
	if b := in.Spec.DefaultBackend; b != nil {
		out.Spec.Backend = &networkingv1beta1.IngressBackend{Resource: b.Resource}
		setServiceBackend(out.Spec.Backend, b.Service)
	}
	for i, rule := range in.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			setServiceBackend(&out.Spec.Rules[i].HTTP.Paths[j].Backend, rule.HTTP.Paths[j].Backend.Service)
		}
	}
	return nil
}

// serviceBackend returns the service in a backend, or nil if the backend names none.
func serviceBackend(b *networkingv1beta1.IngressBackend) *networkingv1.IngressServiceBackend {
	if b.ServiceName == "" && b.ServicePort == (intstr.IntOrString{}) {
		return nil
	}
	return &networkingv1.IngressServiceBackend{
		Name: b.ServiceName,
		Port: networkingv1.ServiceBackendPort{Name: b.ServicePort.StrVal, Number: b.ServicePort.IntVal},
	}
}

func setServiceBackend(b *networkingv1beta1.IngressBackend, service *networkingv1.IngressServiceBackend) {
	if service == nil {
		return
	}
	b.ServiceName = service.Name
	b.ServicePort = intstr.FromInt32(service.Port.Number)
	if service.Port.Name != "" {
		b.ServicePort = intstr.FromString(service.Port.Name)
	}
}
