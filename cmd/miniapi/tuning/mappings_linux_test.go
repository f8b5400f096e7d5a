package tuning

import (
	"os"
	"path/filepath"
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
