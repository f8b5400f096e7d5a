package defaultingressclass

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/plugintest"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	class := func(name string, age time.Duration, isDefault string) runtime.Object {
		return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: isDefault},
			CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0).Add(-age)),
		}}
	}
	tests := []struct {
		name, reason string
		classes      []runtime.Object
		ingress      networkingv1.Ingress
		want         *string
	}{
		{name: "none", reason: "without a default class, the ingress stays unchanged",
			classes: []runtime.Object{class("plain", 0, "false")}},
		{name: "default", reason: "the marked class is set",
			classes: []runtime.Object{class("plain", 0, ""), class("marked", 0, "true")}, want: new("marked")},
		{name: "two", reason: "the newer default class replaces the older default class",
			classes: []runtime.Object{class("a", time.Hour, "true"), class("b", 0, "true")}, want: new("b")},
		{name: "given", reason: "the class that the user has set stays",
			classes: []runtime.Object{class("marked", 0, "true")},
			ingress: networkingv1.Ingress{Spec: networkingv1.IngressSpec{IngressClassName: new("own")}},
			want:    new("own")},
		{name: "annotated", reason: "classes were chosen by annotation once",
			classes: []runtime.Object{class("marked", 0, "true")},
			ingress: networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/ingress.class": "x"}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := New()
			plugintest.Start(t, p, nil, test.classes...)
			ingress := test.ingress.DeepCopy()
			plugintest.Run(t, p, plugintest.Create(ingress), "")
			if diff := cmp.Diff(test.want, ingress.Spec.IngressClassName); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
