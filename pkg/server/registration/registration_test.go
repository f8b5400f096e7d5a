package registration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
)

// At exit, a server removes what a server has created, and leaves what somebody else has.
func TestRemove(t *testing.T) {
	t.Parallel()
	own := map[string]string{managedBy: manager}
	for _, test := range []struct {
		name, reason     string
		apiService, core map[string]string // labels
		left             []string
	}{
		{"created by the server", "nothing leads to a server that has ended", own, own, nil},
		{"created by somebody else", "the server has only used them", nil, nil, []string{"v1.things.example.com", "default/things"}},
		{"APIService alone", "an administrator has made the Service for the server", own, nil, []string{"default/things"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &Registration{
				Config:  Config{Versions: []Version{{GroupVersion: schema.GroupVersion{Group: "things.example.com", Version: "v1"}}}},
				options: &Options{Mode: UntilExit, Service: "default/things"},
				core:    fake.NewClientset(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "things", Labels: test.core}}),
				services: aggregatorfake.NewSimpleClientset(
					&apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1.things.example.com", Labels: test.apiService}},
				).ApiregistrationV1().APIServices(),
			}
			r.remove(t.Context())
			var left []string
			if _, err := r.services.Get(t.Context(), "v1.things.example.com", metav1.GetOptions{}); err == nil {
				left = append(left, "v1.things.example.com")
			}
			if _, err := r.core.CoreV1().Services("default").Get(t.Context(), "things", metav1.GetOptions{}); err == nil {
				left = append(left, "default/things")
			}
			if diff := cmp.Diff(test.left, left); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
