package admissionpolicy

import (
	"math"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// A recorded value is JSON, and not longer than the limit.
func TestTextOfValue(t *testing.T) {
	t.Parallel()
	list := func(elements ...ref.Val) ref.Val { return types.DefaultTypeAdapter.NativeToValue(elements) }
	long := types.String(strings.Repeat("é", maxValue))
	for _, test := range []struct {
		name, reason string
		value        ref.Val
		want         string
	}{
		{"string", "a string has quotes", types.String("a"), `"a"`},
		{"list", "JSON has lists", list(types.Int(1), types.True), "[1,true]"},
		{"long string", "a record has limited memory", long, `"` + strings.Repeat("é", maxValue/2-1) + "…"},
		{"not a number", "JSON has no such number", types.Double(math.NaN()), "NaN"},
	} {
		if got := textOf(test.value); got != test.want {
			t.Errorf("%s: %s: want %.60s, got %.60s", test.name, test.reason, test.want, got)
		}
	}
	if got := textOf(list(types.Double(math.Inf(1)), long)); len(got) > maxValue+len("…") {
		t.Errorf("a long list with an infinity has %d bytes, want at most %d", len(got), maxValue)
	}
}
