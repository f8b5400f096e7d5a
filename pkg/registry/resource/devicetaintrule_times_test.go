package resource_test

import (
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
)

// TestDeviceTaintRuleTimes checks that an update of a taint's effect sets the time of the taint, unless the client
// changes the time too. A pod with tolerationSeconds tolerates the taint until this number of seconds after the time.
func TestDeviceTaintRuleTimes(t *testing.T) {
	t.Parallel()
	first, second := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(2, 0))
	for _, test := range []struct {
		name, reason string
		effect       resourcev1.DeviceTaintEffect
		added        metav1.Time
		want         metav1.Time // the zero time stands for the time of the update
		generation   int64
	}{
		{"same", "nothing is new", "NoSchedule", first, first, 1},
		{"other effect", "the new effect begins at the time of the update", "NoExecute", first, metav1.Time{}, 2},
		{"other effect and time", "the client sets the time", "NoExecute", second, second, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rule := func(effect resourcev1.DeviceTaintEffect, added metav1.Time) *resourcev1.DeviceTaintRule {
				return &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Generation: 1},
					Spec: resourcev1.DeviceTaintRuleSpec{Taint: resourcev1.DeviceTaint{Key: "k", Effect: effect, TimeAdded: &added}}}
			}
			updated, begin := rule(test.effect, test.added), time.Now().Truncate(time.Second)
			builtin.Table().Strategy(builtin.Table().Row(schema.GroupResource{Group: "resource.k8s.io", Resource: "devicetaintrules"}), registry.Dependencies{}).PrepareForUpdate(t.Context(), updated, rule("NoSchedule", first))
			got := updated.Spec.Taint.TimeAdded
			if test.want.IsZero() && got.Time.Before(begin) || !test.want.IsZero() && !got.Equal(&test.want) {
				t.Errorf("%s: added %v", test.reason, got)
			}
			if updated.Generation != test.generation {
				t.Errorf("generation %d, want %d", updated.Generation, test.generation)
			}
		})
	}
}
