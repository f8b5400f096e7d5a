package validation

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestScale checks that the metadata of a Scale is valid with everything that an update ignores.
func TestScale(t *testing.T) {
	t.Parallel()
	ignored := metav1.ObjectMeta{Labels: map[string]string{"a b": ""}, Finalizers: []string{"a b"}, OwnerReferences: make([]metav1.OwnerReference, 1)}
	managed := metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Operation: "Read", FieldsType: "FieldsV1"}}}
	for _, tc := range []struct {
		name, reason string
		scale        autoscalingv1.Scale
		want         string
	}{
		{"ignored metadata", "the workload keeps its metadata", autoscalingv1.Scale{ObjectMeta: ignored}, "<nil>"},
		{"managed fields", "the workload gets the managed fields", autoscalingv1.Scale{ObjectMeta: managed},
			`metadata.managedFields[0].operation: Unsupported value: "Read": supported values: "Apply", "Update"`},
		{"replicas", "there are no fewer pods than none", autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: -1}},
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := "<nil>"
			if err := Scale(&tc.scale).ToAggregate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
