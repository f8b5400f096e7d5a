package tuning

import (
	"os"
	"slices"
	"testing"
)

// The process gives pages back to the kernel only if the kernel can read them from the program's file again.
func TestMappingReads(t *testing.T) {
	t.Parallel()
	const program = "/opt/miniapi"
	for _, test := range []struct {
		name, reason string
		mapping      mapping
		want         bool
	}{
		{"code", "code never changes", mapping{permissions: "r-xp", file: program}, true},
		{"constants", "constants never change", mapping{permissions: "r--p", file: program}, true},
		{"variables", "variables would have their initial values again", mapping{permissions: "rw-p", file: program}, false},
		{"relocated", "the loader changed the pages before it made them read-only",
			mapping{permissions: "r--p", file: program, anonymous: true}, false},
		{"library", "the pages are not the program's", mapping{permissions: "r-xp", file: "/lib/libc.so.6"}, false},
		{"heap", "the heap is in no file", mapping{permissions: "rw-p"}, false},
	} {
		if got := test.mapping.reads(program); got != test.want {
			t.Errorf("%s: want %t because %s, got %t", test.name, test.want, test.reason, got)
		}
	}
}

// dropProgramPages finds pages of the test program, and the program continues to work without them.
func TestDropProgramPages(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dropProgramPages()
	mappings, err := readMappings("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(mappings, func(m mapping) bool { return m.reads(program) }) {
		t.Errorf("nothing to give back in %v", mappings)
	}
}
