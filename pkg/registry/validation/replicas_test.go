package validation

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestPercent(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, reason string
		value        intstr.IntOrString
		number       int
		isPercent    bool
		atMostAll    bool
	}{
		{"all", "100% is the greatest part", intstr.FromString("100%"), 100, true, true},
		{"more than all", "no more than all pods can be unavailable", intstr.FromString("101%"), 101, true, false},
		{"greater than an int", "a number with many digits is a percentage, too",
			intstr.FromString("99999999999999999999%"), math.MaxInt, true, false},
		{"leading zeros", "leading zeros don't change the number", intstr.FromString("0000000000000000000000100%"), 100, true, true},
		{"number", "a number of pods has no limit", intstr.FromInt32(101), 0, false, true},
		{"text", "IntOrPercent reports a text that isn't a percentage", intstr.FromString("-101%"), 0, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if n, isPercent := Percent(tc.value); n != tc.number || isPercent != tc.isPercent {
				t.Errorf("want %d and %t, got %d and %t (%s)", tc.number, tc.isPercent, n, isPercent, tc.reason)
			}
			if errs := AtMostAll(field.NewPath("maxUnavailable"), tc.value); (len(errs) == 0) != tc.atMostAll {
				t.Errorf("want at most all to be %t, got %v (%s)", tc.atMostAll, errs, tc.reason)
			}
		})
	}
}
