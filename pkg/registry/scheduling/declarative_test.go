package scheduling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/component-helpers/scheduling/schedulingv1/workloadbuilder"
	"sigs.k8s.io/randfill"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

// TestSameFields checks that v1alpha3 has all fields of v1beta1: objects of v1beta1 are checked by the validation
// that is generated for v1alpha3.
func TestSameFields(t *testing.T) {
	t.Parallel()
	t.Run("spec of a workload", func(t *testing.T) {
		t.Parallel()
		wantSameFields(t, workloadbuilder.Convert_v1beta1_WorkloadSpec_To_v1alpha3_WorkloadSpec)
	})
	t.Run("spec of a group", func(t *testing.T) {
		t.Parallel()
		wantSameFields(t, workloadbuilder.Convert_v1beta1_PodGroupSpec_To_v1alpha3_PodGroupSpec)
	})
	t.Run("status of a group", func(t *testing.T) {
		t.Parallel()
		wantSameFields(t, workloadbuilder.Convert_v1beta1_PodGroupStatus_To_v1alpha3_PodGroupStatus)
	})
}

// wantSameFields fills a value of the type A, converts it to B, and compares the JSON of both. The conversion is an
// unsafe cast, so a conversion back to A would hide a difference between the types.
func wantSameFields[A, B any](t *testing.T, convert func(*A, *B, conversion.Scope) error) {
	t.Helper()
	var value A
	randfill.New().NilChance(0).NumElements(1, 1).MaxDepth(12).Fill(&value)
	var converted B
	if err := convert(&value, &converted, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(registrytest.AsMap(t, &value), registrytest.AsMap(t, &converted)); diff != "" {
		t.Errorf("%T has other fields than %T (-before +after):\n%s", converted, value, diff)
	}
}
