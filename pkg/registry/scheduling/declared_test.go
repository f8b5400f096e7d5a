package scheduling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"sigs.k8s.io/randfill"
)

// TestSameFields checks that v1alpha3 has all fields of v1beta1: objects of v1beta1 are checked by the validation
// that is generated for v1alpha3.
func TestSameFields(t *testing.T) {
	t.Parallel()
	t.Run("spec of a workload", func(t *testing.T) {
		t.Parallel()
		wantSameFields[schedulingv1beta1.WorkloadSpec, schedulingv1alpha3.WorkloadSpec](t)
	})
	t.Run("spec of a group", func(t *testing.T) {
		t.Parallel()
		wantSameFields[schedulingv1beta1.PodGroupSpec, schedulingv1alpha3.PodGroupSpec](t)
	})
	t.Run("status of a group", func(t *testing.T) {
		t.Parallel()
		wantSameFields[schedulingv1beta1.PodGroupStatus, schedulingv1alpha3.PodGroupStatus](t)
	})
}

// wantSameFields fills a value of the type A, converts it to B and back, and compares the result.
func wantSameFields[A, B any](t *testing.T) {
	t.Helper()
	var value A
	randfill.New().NilChance(0).NumElements(1, 1).MaxDepth(12).Fill(&value)
	there, err := inVersion[B](&value)
	if err != nil {
		t.Fatal(err)
	}
	back, err := inVersion[A](there)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(value, *back); diff != "" {
		t.Errorf("%T has other fields than %T (-before +after):\n%s", *there, value, diff)
	}
}
