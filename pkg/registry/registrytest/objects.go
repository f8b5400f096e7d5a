package registrytest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ClusterStored returns the metadata of a stored object of a cluster-scoped kind.
func ClusterStored(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, ResourceVersion: "1"}
}

// WantErrors compares the texts of errors with the argument "want".
func WantErrors(t *testing.T, reason string, errs field.ErrorList, want ...string) {
	t.Helper()
	var got []string
	for _, err := range errs {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: errors (-want +got):\n%s", reason, diff)
	}
}

// Stored returns the metadata of a stored object of a namespaced kind.
func Stored(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", ResourceVersion: "1"}
}

// ValidPodSpec returns the smallest pod spec that is valid after defaulting.
func ValidPodSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}
}

// Quantities returns a list of resources. The arguments are a resource, its quantity, the next resource, and so on.
func Quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// AppLabels are the labels of pods in tests of workloads.
var AppLabels = map[string]string{"app": "web"}

// AppSelector selects pods with AppLabels.
func AppSelector() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: AppLabels} }

// AppTemplate returns a pod template with AppLabels.
func AppTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: AppLabels}, Spec: ValidPodSpec()}
}
