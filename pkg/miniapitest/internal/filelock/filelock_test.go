package filelock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A file has one lock at a time. While it is locked, it can be read and removed.
func TestLock(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	if _, err := Open(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want no file, got %v", err)
	}
	locked, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locked.WriteString("content"); err != nil {
		t.Fatal(err)
	}
	for _, again := range []func(string) (*os.File, error){Create, Open} {
		if _, err := again(name); !errors.Is(err, ErrLocked) {
			t.Errorf("want ErrLocked, got %v", err)
		}
	}
	if got, err := ReadFile(name); string(got) != "content" || err != nil {
		t.Errorf("want the content, got %q, %v", got, err)
	}
	if err := locked.Close(); err != nil {
		t.Fatal(err)
	}
	locked, err = Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Close()
	if err := os.Remove(name); err != nil {
		t.Errorf("want a file that can be removed while it is locked, got %v", err)
	}
}
