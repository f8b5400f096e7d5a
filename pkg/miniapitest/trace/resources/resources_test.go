package resources

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestOperations checks that the operations of a resource follow from its verbs. For a connection such as pods/exec,
// the only operation is CONNECT, whatever the verbs are.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, version string
		resource              metav1.APIResource
		want                  []admissionv1.Operation
	}{
		{"all verbs", "a patch is an update, and reads don't reach admission", "v1",
			metav1.APIResource{Name: "pods", Kind: "Pod", Verbs: metav1.Verbs{"create", "get", "list", "patch", "deletecollection"}},
			[]admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete}},
		{"status", "a subresource has its own verbs", "v1",
			metav1.APIResource{Name: "pods/status", Kind: "Pod", Verbs: metav1.Verbs{"get", "patch", "update"}},
			[]admissionv1.Operation{admissionv1.Update}},
		{"connection", "requests of any verb for the subresource are connections", "v1",
			metav1.APIResource{Name: "pods/exec", Kind: "PodExecOptions", Verbs: metav1.Verbs{"create", "get"}},
			[]admissionv1.Operation{admissionv1.Connect}},
		{"custom kind", "the kind of a custom resource may end with Options", "example.com/v1",
			metav1.APIResource{Name: "buildoptions", Kind: "BuildOptions", Verbs: metav1.Verbs{"create", "delete"}},
			[]admissionv1.Operation{admissionv1.Create, admissionv1.Delete}},
		{"status of a custom kind", "the subresource has the kind of its resource", "example.com/v1",
			metav1.APIResource{Name: "buildoptions/status", Kind: "BuildOptions", Verbs: metav1.Verbs{"get", "update"}},
			[]admissionv1.Operation{admissionv1.Update}},
		{"subresource of another group", "only the core group has kinds of connections", "example.com/v1",
			metav1.APIResource{Name: "builds/retry", Group: "example.com", Kind: "RetryOptions", Verbs: metav1.Verbs{"create"}},
			[]admissionv1.Operation{admissionv1.Create}},
		{"reads", "requests that only read don't reach admission", "v1",
			metav1.APIResource{Name: "componentstatuses", Kind: "ComponentStatus", Verbs: metav1.Verbs{"get", "list"}},
			nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Of([]*metav1.APIResourceList{{GroupVersion: test.version, APIResources: []metav1.APIResource{test.resource}}})
			if operations := got[0].Operations(); !slices.Equal(operations, test.want) {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, operations)
			}
		})
	}
}

// TestPath checks that the path of a resource has the group, the namespace and further elements, if there are any.
func TestPath(t *testing.T) {
	t.Parallel()
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	for _, test := range []struct {
		name, reason, namespace string
		resource                schema.GroupVersionResource
		elements                []string
		want                    string
	}{
		{"core group", "the core group has a root of its own", "shop", pods, nil, "/api/v1/namespaces/shop/pods"},
		{"subresource", "the name comes before the subresource", "shop", pods, []string{"web", "exec"},
			"/api/v1/namespaces/shop/pods/web/exec"},
		{"no namespace", "the resource has no namespaces", "", roles, []string{"admin"},
			"/apis/rbac.authorization.k8s.io/v1/clusterroles/admin"},
		{"empty elements", "a created object has no name in the path", "", roles, []string{"", ""},
			"/apis/rbac.authorization.k8s.io/v1/clusterroles"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Path(test.resource, test.namespace, test.elements...); got != test.want {
				t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
			}
		})
	}
}
