package manifests

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// A reader compares a file with known content part by part, without reading the whole file into memory.
func TestReaderHas(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("definition\n"), 2*compared/10)
	changed := bytes.Clone(long)
	changed[len(changed)-1] = '!'
	for _, test := range []struct {
		name, reason string
		is, known    []byte
		want         bool
	}{
		{"same", "nothing has changed", []byte("a: b"), []byte("a: b"), true},
		{"same size", "files of the same size may have different contents", []byte("a: c"), []byte("a: b"), false},
		{"longer", "more was written", []byte("a: bc"), []byte("a: b"), false},
		{"shorter", "less was written", []byte("a:"), []byte("a: b"), false},
		{"empty", "a file may be empty", nil, []byte{}, true},
		{"long", "all parts are compared", long, long, true},
		{"changed at the end", "the last part counts, too", changed, long, false},
		{"whole parts", "the end follows the last part", long[:2*compared], long[:2*compared], true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "file.yaml")
			if err := os.WriteFile(file, test.is, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := (Reader{}).has(file, test.known); got != test.want {
				t.Errorf("the file has the content: %t, want %t: %s", got, test.want, test.reason)
			}
			inFS := Reader{FS: fstest.MapFS{"file.yaml": {Data: test.is}}}
			if got := inFS.has("file.yaml", test.known); got != test.want {
				t.Errorf("the file of the file system has the content: %t, want %t: %s", got, test.want, test.reason)
			}
		})
	}
	if (Reader{}).has(filepath.Join(t.TempDir(), "missing.yaml"), []byte("a: b")) {
		t.Error("a missing file has a content")
	}
}
