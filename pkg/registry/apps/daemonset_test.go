package apps

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// TestTemplateGenerationAnnotation checks the versions of DaemonSets that have no field for the generation of the
// template. In kube-apiserver, the conversion to these versions sets the annotation.
func TestTemplateGenerationAnnotation(t *testing.T) {
	t.Parallel()
	table, err := registry.NewTable(Group)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]string{appsv1.DeprecatedTemplateGeneration: "7"}
	for _, test := range []struct {
		name, reason, want string
		object             interface {
			runtime.Object
			metav1.Object
		}
	}{
		{"v1", "the template hasn't changed yet", "0", &appsv1.DaemonSet{}},
		{"v1beta2", "the version has the fields of v1", "0", &appsv1beta2.DaemonSet{}},
		{"counted", "the server has counted changes", "7", &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Annotations: counted}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			table.Scheme().Default(test.object)
			if got := test.object.GetAnnotations()[appsv1.DeprecatedTemplateGeneration]; got != test.want {
				t.Errorf("the generation is %q, want %q: %s", got, test.want, test.reason)
			}
		})
	}
}
