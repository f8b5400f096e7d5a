package registry_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/registry/features"
	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// strategies returns the strategies of an object's kind in two servers: with the gates of Kubernetes 1.37, and with those
// of 1.35, where the gates of these tests are off.
func strategies(t *testing.T, obj runtime.Object) (on, off registry.Strategy) {
	t.Helper()
	table := builtin.Table()
	row := registrytest.Row(t, table, obj)
	return table.Strategy(row, registry.Dependencies{}),
		table.Strategy(row, registry.Dependencies{Gates: features.Of(version.MustParse("1.35"))})
}

// TestGatesOfRules checks rules that depend on a feature gate.
func TestGatesOfRules(t *testing.T) {
	t.Parallel()
	named := func(name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "a.example.com", SessionAffinity: corev1.ServiceAffinityNone,
		}}
	}
	ingress := func(service string, paths ...string) *networkingv1.Ingress {
		backend := func(service string) networkingv1.IngressBackend {
			return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 80}}}
		}
		main := backend(service)
		i := &networkingv1.Ingress{ObjectMeta: registrytest.Stored("i"), Spec: networkingv1.IngressSpec{DefaultBackend: &main}}
		for _, service := range paths {
			prefix := networkingv1.PathTypePrefix
			i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: backend(service)}},
			}}})
		}
		return i
	}
	endpoint := func(ip string) *corev1.Endpoints {
		return &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "default"}, Subsets: []corev1.EndpointSubset{
			{Addresses: []corev1.EndpointAddress{{IP: ip}}, Ports: []corev1.EndpointPort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
		}}
	}
	blocked := func(cidr string) *networkingv1.NetworkPolicy {
		return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "n", Namespace: "default"}, Spec: networkingv1.NetworkPolicySpec{
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}}}},
		}}
	}
	const label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"
	for _, test := range []struct {
		name, reason string
		object, old  runtime.Object
		on, off      []string
	}{
		{"service", "the name may start with a digit", named("1st"), nil, nil,
			[]string{"metadata.name: Invalid value: \"1st\": " + label}},
		{"service name", "a bad name has one error", named("A"), nil,
			[]string{"metadata.name: Invalid value: \"A\": a lowercase RFC 1123 label"},
			[]string{"metadata.name: Invalid value: \"A\": " + label}},
		{"ingress", "the backends are services", ingress("1st"), nil,
			nil, []string{"spec.defaultBackend.service.name: Invalid value: \"1st\": " + label}},
		{"ingress of before", "the stored ingress has such a name", ingress("2nd"), ingress("1st"), nil, nil},
		{"ingress with a rule of before", "the stored ingress has such a name in a path", ingress("2nd"), ingress("a", "1st"), nil, nil},
		{"ingress of a good name", "the stored ingress has no such name", ingress("2nd"), ingress("a"),
			nil, []string{"spec.defaultBackend.service.name: Invalid value: \"2nd\": " + label}},
		{"address", "leading zeros are ambiguous", endpoint("010.0.0.1"), nil,
			[]string{`subsets[0].addresses[0].ip: Invalid value: "010.0.0.1": must not have leading 0s`}, nil},
		{"range", "the range has bits beyond its mask", blocked("10.0.0.1/8"), nil,
			[]string{`spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`},
			nil},
		{"no range", "this is no range with any gate", blocked("a"), nil,
			[]string{`spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "a": must be a valid CIDR value`},
			[]string{`spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "a": must be a valid CIDR value`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			on, off := strategies(t, test.object)
			for strategy, want := range map[*registry.Strategy][]string{&on: test.on, &off: test.off} {
				var errs field.ErrorList
				if test.old == nil {
					errs = strategy.Validate(t.Context(), test.object)
				} else {
					errs = strategy.ValidateUpdate(t.Context(), test.object, test.old)
				}
				if len(errs) != len(want) || len(want) > 0 && !strings.HasPrefix(errs[0].Error(), want[0]) {
					t.Errorf("%s: gates of 1.35: %t: want errors %q, got %v", test.reason, strategy == &off, want, errs)
				}
			}
		})
	}
}

// TestGatesOfRows checks rows that differ while a feature gate is off.
func TestGatesOfRows(t *testing.T) {
	t.Parallel()
	scaler := func(generation int64, most int32) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: registrytest.Generation(generation), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: most}}
	}
	ranges := func(conditions ...metav1.Condition) *networkingv1.ServiceCIDR {
		return &networkingv1.ServiceCIDR{Status: networkingv1.ServiceCIDRStatus{Conditions: conditions}}
	}
	ready := metav1.Condition{Type: "Ready"}
	for _, test := range []struct {
		name, reason         string
		object, old, on, off runtime.Object
	}{
		{"new autoscaler", "HPAGeneration counts generations", scaler(0, 1), nil, scaler(1, 1), scaler(0, 1)},
		{"autoscaler", "HPAGeneration counts generations", scaler(1, 2), scaler(1, 1), scaler(2, 2), scaler(1, 2)},
		{"new range", "ServiceCIDRStatusFieldWiping clears the status", ranges(ready), nil, ranges(), ranges(ready)},
		{"range", "ServiceCIDRStatusFieldWiping keeps the stored status", ranges(ready), ranges(), ranges(), ranges(ready)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			on, off := strategies(t, test.object)
			for strategy, want := range map[*registry.Strategy]runtime.Object{&on: test.on, &off: test.off} {
				got := test.object.DeepCopyObject()
				if test.old == nil {
					strategy.PrepareForCreate(t.Context(), got)
				} else {
					strategy.PrepareForUpdate(t.Context(), got, test.old)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: gates of 1.35: %t (-want +got):\n%s", test.reason, strategy == &off, diff)
				}
			}
		})
	}
	_, off := strategies(t, ranges())
	if fields := off.GetResetFields(); fields != nil {
		t.Errorf("without ServiceCIDRStatusFieldWiping, an apply owns the status, but %v are reset", fields)
	}
}
