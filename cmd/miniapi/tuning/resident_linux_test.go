package tuning

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadMappings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "smaps")
	const smaps = `00400000-0316b000 r-xp 00000000 fe:00 10019122                           /opt/mini api/miniapi
Rss:               37864 kB
Anonymous:             0 kB
066c0000-067b1000 rw-p 062c0000 fe:00 10019122                           /opt/mini api/miniapi
Anonymous:           308 kB
VmFlags: rd wr mr mw me ac
c000000000-c000400000 rw-p 00000000 00:00 0 
Anonymous:           100 kB
`
	if err := os.WriteFile(file, []byte(smaps), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readMappings(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []mapping{
		{0x400000, 0x316b000, "r-xp", "/opt/mini api/miniapi", false},
		{0x66c0000, 0x67b1000, "rw-p", "/opt/mini api/miniapi", true},
		{0xc000000000, 0xc000400000, "rw-p", "", true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping{})); diff != "" {
		t.Errorf("mappings (-want +got):\n%s", diff)
	}
}

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
