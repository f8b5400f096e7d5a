package kept

import (
	"fmt"
	"testing"
)

// Sets keeps a bounded number of sets with a bounded size in all. A new set doesn't replace a set with the same name,
// because a server may be about to store the objects of the old set.
func TestSetsAreBounded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		sizes        []int
		kept         []bool
	}{
		{"two", "both fit", []int{1, 2}, []bool{true, true}},
		{"too large", "a set that is larger than the limit for all sets is dropped, and the other sets stay",
			[]int{1, mostBytes + 1, 2}, []bool{true, false, true}},
		{"too large together", "the newest set stays", []int{mostBytes, 1}, []bool{false, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sets := NewSets()
			for i, size := range test.sizes {
				sets.add(fmt.Sprint(i), &set{size: size})
			}
			for i, want := range test.kept {
				if got := sets.get(fmt.Sprint(i)) != nil; got != want {
					t.Errorf("set %d is kept: %t, want %t: %s", i, got, want, test.reason)
				}
			}
		})
	}
	sets := NewSets()
	for i := range 3 * mostSets {
		sets.add(fmt.Sprint(i), &set{size: 1})
		if got := sets.byName.Len(); got > mostSets || sets.size != got || sets.get(fmt.Sprint(i)) == nil {
			t.Fatalf("after %d sets, %d of the size %d are kept", i+1, got, sets.size)
		}
	}
	sets.get("200") // the use that is the longest ago is now that of 201
	sets.add("300", &set{size: 1})
	if sets.get("200") == nil || sets.get("201") != nil {
		t.Error("want the set that was used to stay, and the set whose last use is the longest ago to be dropped")
	}
	first := sets.get("299")
	sets.add("299", &set{size: 1})
	if sets.get("299") != first {
		t.Error("a set was replaced")
	}
}
