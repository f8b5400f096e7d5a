package tuning

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func TestAround(t *testing.T) {
	t.Parallel()
	mappings := []mapping{
		{start: 0x1000, end: 0x2000, permissions: "rw-p"},
		{start: 0x3000, end: 0x4000, permissions: "rw-p"},
		{start: 0x4000, end: 0x5000, permissions: "rw-p"},
		{start: 0x5000, end: 0x6000, permissions: "rw-p"},
		{start: 0x6000, end: 0x7000, permissions: "---p"},
		{start: 0x7000, end: 0x8000, permissions: "rw-p", file: "/lib/libc.so.6"},
	}
	for _, test := range []struct {
		name, reason string
		address      uintptr
		want         mapping
	}{
		{"heap", "pieces with other advice are mappings of their own", 0x4800, mapping{start: 0x3000, end: 0x6000, permissions: "rw-p"}},
		{"apart", "what lies elsewhere isn't the heap's", 0x1800, mapping{start: 0x1000, end: 0x2000, permissions: "rw-p"}},
		{"file", "other permissions, another file", 0x7800, mapping{start: 0x7000, end: 0x8000, permissions: "rw-p", file: "/lib/libc.so.6"}},
		{"nowhere", "no mapping has the address", 0x2800, mapping{}},
	} {
		if diff := cmp.Diff(test.want, around(mappings, test.address), cmp.AllowUnexported(mapping{})); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.reason, diff)
		}
	}
}

// The kernel has the advice for all objects of the heap. Whether it has huge pages left for them is up to it.
func TestAdviseHugePages(t *testing.T) {
	setting, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(setting), "[never]") {
		t.Skip("this machine has no huge pages on advice")
	}
	object := make([]byte, 32<<20)
	advised := func() bool {
		smaps, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Fatal(err)
		}
		at, found := uintptr(unsafe.Pointer(&object[0])), false
		for line := range strings.Lines(string(smaps)) {
			fields := strings.Fields(line)
			if m, ok := parseMapping(fields); ok {
				found = m.start <= at && at < m.end
			} else if found && fields[0] == "VmFlags:" {
				return strings.Contains(line, " hg")
			}
		}
		t.Fatal("no mapping has the object")
		return false
	}
	if advised() {
		t.Fatal("before the advice: want none")
	}
	adviseHugePages()
	if !advised() {
		t.Error("want the advice for the object")
	}
	withdrawHugePages()
	if advised() {
		t.Error("after the advice is withdrawn: want none")
	}
	runtime.KeepAlive(object)
}
