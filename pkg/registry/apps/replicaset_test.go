package apps

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestReplicaSet(t *testing.T) {
	t.Parallel()
	build := func(replicas int32) *appsv1.ReplicaSet {
		r := &appsv1.ReplicaSet{ObjectMeta: registrytest.Stored("r"), Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: registrytest.AppSelector(), Template: registrytest.AppTemplate()}}
		defaultReplicaSet(r)
		return r
	}
	const negative = "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
	registrytest.WantErrors(t, "the number of replicas is not negative", validateReplicaSet(build(-1)), negative)
	registrytest.WantErrors(t, "an update checks the spec once", validateReplicaSetUpdate(build(-1), build(1)), negative)
}

func TestReplicaSetColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "empty selector", Reason: "an empty selector is shown as <none>",
			Object: &appsv1.ReplicaSet{ObjectMeta: registrytest.MonthOld("x"), Spec: appsv1.ReplicaSetSpec{
				Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{},
				Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "one"}, {Name: "b", Image: "two"}}}},
			}},
			Want: []any{"x", int64(3), int64(0), int64(0), "30d", "a,b", "one,two", "<none>"},
		},
	})
}

func TestReplicaSetGeneration(t *testing.T) {
	t.Parallel()
	registrytest.CheckGenerations(t, registrytest.Table(t, Group), []registrytest.GenerationCase{
		{
			Name: "spec", Reason: "a change of the spec increases the generation",
			Object: &appsv1.ReplicaSet{ObjectMeta: registrytest.Generation(4), Spec: appsv1.ReplicaSetSpec{MinReadySeconds: 1}},
			Old:    &appsv1.ReplicaSet{ObjectMeta: registrytest.Generation(4)},
			Want:   5,
		},
		{
			Name: "annotation", Reason: "a change of metadata does not increase the generation",
			Object: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Generation: 4, Annotations: map[string]string{"a": "b"}}},
			Old:    &appsv1.ReplicaSet{ObjectMeta: registrytest.Generation(4)},
			Want:   4,
		},
	})
}
