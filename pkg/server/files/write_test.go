package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Replace makes a new file of the given mode, whatever has the name: the target of a link stays as it was, and so does a
// file under another name.
func TestReplace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		place        func(path, other string) error
	}{
		{"new", "nothing has the name", func(string, string) error { return nil }},
		{"file", "users of another mode may read the file", func(path, _ string) error {
			return errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Chmod(path, 0o666))
		}},
		{"link", "another user may have linked a file there", func(path, other string) error { return os.Symlink(other, path) }},
		{"second name", "another user may have the same file open, under another name",
			func(path, other string) error { return os.Link(other, path) }},
		{"dangling link", "the target would be created", func(path, other string) error { return os.Symlink(other+"x", path) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
			path := filepath.Join(dir, "file")
			if err := errors.Join(os.WriteFile(other, []byte("other"), 0o600), test.place(path, other)); err != nil {
				t.Fatal(err)
			}
			if err := Replace(path, []byte("new"), 0o600); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
				t.Errorf("want a regular file of mode 0600, because %s, got %v, %v", test.reason, info, err)
			}
			for file, want := range map[string]string{path: "new", other: "other"} {
				if got, err := os.ReadFile(file); err != nil || string(got) != want {
					t.Errorf("%s: want %q, because %s, got %q, %v", file, want, test.reason, got, err)
				}
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("want no temporary file to be left, got %v, %v", entries, err)
			}
		})
	}
}

// Create leaves an existing file as it was.
func TestCreate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := Create(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("want fs.ErrExist, got %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
		t.Errorf("want the first content, got %q, %v", got, err)
	}
}

func TestReplaceable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, reason, path, want string }{
		{"new", "Replace makes the file", file + "x", ""},
		{"file", "Replace replaces the file", file, ""},
		{"no folder", "Replace makes no folder", filepath.Join(dir, "missing", "file"),
			"folder " + filepath.Join(dir, "missing") + " doesn't exist"},
		{"file for the folder", "nothing is below a file", filepath.Join(file, "x"), file + " is not a folder"},
		{"folder", "a folder has no content", dir, "is a folder: name a file"},
		{"device", "programs need the device under its name", os.DevNull, "is a device"},
		{"standard output", "the name is a link for the whole machine, whatever it leads to now", "/dev/stdout", "is a device"},
	} {
		if err := Replaceable(test.path); err == nil && test.want != "" || err != nil && (test.want == "" || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: %s: want %q, got %v", test.name, test.reason, test.want, err)
		}
	}
}
