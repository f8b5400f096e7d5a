package networking

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestIngressClassColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "parameters", Reason: "the kind of the parameters is shown with its group",
			Object: &networkingv1.IngressClass{ObjectMeta: registrytest.MonthOld("x"), Spec: networkingv1.IngressClassSpec{
				Controller: "c", Parameters: &networkingv1.IngressClassParametersReference{APIGroup: ptr.To("g.io"), Kind: "K", Name: "p"},
			}},
			Want: []any{"x", "c", "K.g.io/p", "30d"},
		},
		{
			Name: "default", Reason: "the default class is marked",
			Object: &networkingv1.IngressClass{
				ObjectMeta: metav1.ObjectMeta{
					Name: "x", CreationTimestamp: registrytest.MonthAgo(),
					Annotations: map[string]string{"ingressclass.kubernetes.io/is-default-class": "true"},
				},
				Spec: networkingv1.IngressClassSpec{Controller: "c"},
			},
			Want: []any{"x (default)", "c", "<none>", "30d"},
		},
	})
}
