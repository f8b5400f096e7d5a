//go:build unix

package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Where every user may write, MakeFolder uses no folder and no link of another user.
func TestMakeFolder(t *testing.T) {
	t.Parallel()
	const other = 12345
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	for _, test := range []struct {
		name, reason string
		mode         os.FileMode // of the folder above
		place        func(path string) error
		refused      bool
	}{
		{"none", "nobody has made the folder", 0o777 | os.ModeSticky, func(string) error { return nil }, false},
		{"own", "an earlier run has made it", 0o777 | os.ModeSticky, func(path string) error { return os.Mkdir(path, 0o700) }, false},
		{"of another user", "the other user could exchange the files in it", 0o777 | os.ModeSticky, func(path string) error {
			return errors.Join(os.Mkdir(path, 0o777), os.Chown(path, other, other))
		}, true},
		{"link of another user", "the link may lead anywhere", 0o777 | os.ModeSticky, func(path string) error {
			target := filepath.Join(filepath.Dir(filepath.Dir(path)), "target")
			return errors.Join(os.Mkdir(target, 0o700), os.Symlink(target, path), os.Lchown(path, other, other))
		}, true},
		{"of another user in a folder of their own", "the user has chosen the folder, and no third user could write to it", 0o755, func(path string) error {
			return errors.Join(os.Mkdir(path, 0o755), os.Chown(path, other, other))
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			above := filepath.Join(t.TempDir(), "above")
			path := filepath.Join(above, "shared")
			if err := errors.Join(os.Mkdir(above, 0o700), os.Chmod(above, test.mode), test.place(path)); err != nil {
				t.Fatal(err)
			}
			err := MakeFolder(filepath.Join(path, "certs"))
			if (err != nil) != test.refused {
				t.Errorf("%s, but err is: %v", test.reason, err)
			}
			if _, err := os.Stat(filepath.Join(path, "certs")); (err != nil) != test.refused {
				t.Errorf("want a folder unless it is refused, got: %v", err)
			}
		})
	}
}
