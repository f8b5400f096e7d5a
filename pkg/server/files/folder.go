package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeFolder makes a folder that only this user may enter, and the folders above it, if they don't exist. In a folder to
// which every user may write, such as /tmp, another user may have made one of them, or a link: that user could exchange
// the files in it, or lead them elsewhere. So the error names such a folder or link, and nothing is made below it.
func MakeFolder(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := ownedIn(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return ownedIn(dir)
}

// ownedIn returns an error if another user has made a path, or a folder above it, in a folder to which every user may
// write.
func ownedIn(path string) error {
	above := filepath.Dir(path)
	if above == path {
		return nil
	}
	if err := ownedIn(above); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	shared, err := os.Stat(above)
	if err != nil {
		return err
	}
	if shared.Mode().Perm()&0o002 != 0 && !isOwn(info) {
		return fmt.Errorf("%s was made by another user: name a folder of your own", path)
	}
	return nil
}
