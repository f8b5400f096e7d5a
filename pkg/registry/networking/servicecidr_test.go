package networking

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestServiceCIDRGeneration(t *testing.T) {
	t.Parallel()
	registrytest.CheckGenerations(t, registrytest.Table(t, Group), []registrytest.GenerationCase{
		{
			Name: "spec", Reason: "a service CIDR has no generation",
			Object: &networkingv1.ServiceCIDR{Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.0.0.0/8"}}},
			Old:    &networkingv1.ServiceCIDR{},
		},
	})
}

func TestServiceCIDRStatusUpdate(t *testing.T) {
	t.Parallel()
	registrytest.CheckPrepared(t, registrytest.Table(t, Group), []registrytest.PrepareCase{
		{
			Name:   "other metadata",
			Reason: "the status endpoint keeps annotations, but not name and uid, so the request for another object is refused",
			Object: &networkingv1.ServiceCIDR{
				ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "other", Annotations: map[string]string{"a": "new"}},
				Status:     networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{Type: "Ready"}}},
			},
			Status: true, Old: &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "this", UID: "this"}},
			Want: &networkingv1.ServiceCIDR{
				ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "other"},
				Status:     networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{Type: "Ready"}}},
			},
		},
	})
}
