package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseIndexes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, text string
		want               string
		len                int
	}{
		{"none", "the field is empty at first", "", "", 0},
		{"single", "one index", "3", "3", 1},
		{"two", "two neighbours are written one by one", "1,2", "1,2", 2},
		{"interval", "three neighbours are an interval", "1,2,3", "1-3", 3},
		{"several", "intervals and single indexes", "0,2-4,7,9,10", "0,2-4,7,9,10", 7},
		{"above the limit", "the number of completions was reduced", "0,8-30,40", "0,8-10", 4},
		{"malformed", "an index that isn't a number is left out", "0,x,2-y,5", "0,5", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := parseIndexes(test.text, 11)
			if got.String() != test.want || got.len() != test.len {
				t.Errorf("%s: want %d indexes %q, got %d %q", test.reason, test.len, test.want, got.len(), got)
			}
		})
	}
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	const limit = 12
	set := parseIndexes("1,3-5,9", limit)
	for _, test := range []struct {
		name, reason, other string
		union               string
		common              int
	}{
		{"none", "the set stays", "", "1,3-5,9", 0},
		{"the same", "the set stays", "1,3-5,9", "1,3-5,9", 5},
		{"between", "an index joins its neighbours", "2", "1-5,9", 0},
		{"overlapping", "intervals overlap", "0,4-7,9,10", "0,1,3-7,9,10", 3},
		{"around", "an interval has all others", "0-11", "0-11", 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			other := parseIndexes(test.other, limit)
			if got := set.union(other).String(); got != test.union {
				t.Errorf("%s: want the union %q, got %q", test.reason, test.union, got)
			}
			if got := set.common(other); got != test.common || other.common(set) != test.common {
				t.Errorf("%s: want %d common indexes, got %d", test.reason, test.common, got)
			}
		})
	}
	var has []int
	for i := range limit {
		if set.has(i) {
			has = append(has, i)
		}
	}
	if diff := cmp.Diff([]int{1, 3, 4, 5, 9}, has); diff != "" {
		t.Errorf("the indexes of the set differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 2, 6, 7}, set.missing(4, limit)); diff != "" {
		t.Errorf("the first missing indexes differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 2}, set.missing(10, 5)); diff != "" {
		t.Errorf("the missing indexes below 5 differ (-want +got):\n%s", diff)
	}
}
