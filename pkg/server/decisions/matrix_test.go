package decisions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
)

// TestServedBy checks which operations of admission each resource of the discovery documents has.
func TestServedBy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, version string
		resource              metav1.APIResource
		want                  []admission.Operation
	}{
		{"all verbs", "a patch is an update, and reads don't reach admission", "v1", metav1.APIResource{Name: "pods", Kind: "Pod", Verbs: metav1.Verbs{"create", "get", "list", "patch", "deletecollection"}}, []admission.Operation{admission.Create, admission.Update, admission.Delete}},
		{"status", "a subresource has its own verbs", "v1", metav1.APIResource{Name: "pods/status", Kind: "Pod", Verbs: metav1.Verbs{"get", "patch", "update"}}, []admission.Operation{admission.Update}},
		{"connection", "requests of any verb for the subresource are connections", "v1", metav1.APIResource{Name: "pods/exec", Kind: "PodExecOptions", Verbs: metav1.Verbs{"create", "get"}}, []admission.Operation{admission.Connect}},
		{"custom kind", "the kind of a custom resource may end with Options", "example.com/v1", metav1.APIResource{Name: "buildoptions", Kind: "BuildOptions", Verbs: metav1.Verbs{"create", "delete"}}, []admission.Operation{admission.Create, admission.Delete}},
		{"status of a custom kind", "the subresource has the kind of its resource", "example.com/v1", metav1.APIResource{Name: "buildoptions/status", Kind: "BuildOptions", Verbs: metav1.Verbs{"get", "update"}}, []admission.Operation{admission.Update}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := servedBy([]*metav1.APIResourceList{{GroupVersion: test.version, APIResources: []metav1.APIResource{test.resource}}})
			if diff := cmp.Diff(test.want, got[0].operations); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
