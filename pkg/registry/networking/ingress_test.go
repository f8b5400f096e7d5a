package networking

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestIngressColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "many hosts", Reason: "the number of hidden hosts includes rules without a host",
			Object: &networkingv1.Ingress{ObjectMeta: registrytest.MonthOld("x"), Spec: networkingv1.IngressSpec{
				TLS:   []networkingv1.IngressTLS{{}},
				Rules: []networkingv1.IngressRule{{Host: "a"}, {}, {Host: "b"}, {Host: "c"}, {Host: "d"}},
			}},
			Want: []any{"x", "<none>", "a,b,c + 2 more...", "", "80, 443", "30d"},
		},
	})
}

func TestIngressWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "annotation", Reason: "the annotation without the field gets a warning",
			Object: &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/ingress.class": "x"}}},
			Want:   []string{`annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`},
		},
		{
			Name: "annotation and field", Reason: "the field makes the annotation harmless",
			Object: &networkingv1.Ingress{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/ingress.class": "x"}},
				Spec:       networkingv1.IngressSpec{IngressClassName: ptr.To("c")},
			},
		},
	})
}

func TestIngressErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "paths", Reason: "a path is absolute and has one backend",
			Object: &networkingv1.Ingress{ObjectMeta: registrytest.Stored("i"), Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
				Host: "10.0.0.1", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{Path: "a//b", PathType: ptr.To(networkingv1.PathTypePrefix)}, {}}}}}}}},
			Want: []string{
				`spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`,
				`spec.rules[0].http.paths[0].path: Invalid value: "a//b": must be an absolute path`,
				`spec.rules[0].http.paths[0].path: Invalid value: "a//b": must not contain '//'`,
				`spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required`,
				"spec.rules[0].http.paths[1].pathType: Required value: pathType must be specified",
			},
		},
	})
}
