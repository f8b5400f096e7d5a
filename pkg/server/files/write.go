package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replaceable returns an error if Replace can't write a file of this name: its folder must exist, and a file with the
// name must be a regular file or a symbolic link to one.
func Replaceable(path string) error {
	dir := filepath.Dir(path)
	folder, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("folder %s doesn't exist: make the folder, or name a file in another folder", dir)
	case err != nil:
		return err
	case !folder.IsDir():
		return fmt.Errorf("%s is not a folder: name a file in a folder", dir)
	}
	switch info, err := os.Stat(path); {
	case err != nil: // there is no such file
		return nil
	case info.IsDir():
		return errors.New("is a folder: name a file in it")
	case !info.Mode().IsRegular(), dir == "/dev": // /dev/stdout may lead to a regular file, and is a link for the whole machine
		return errors.New("is a device, a pipe or a socket: name a regular file, or a new one")
	}
	return nil
}

// Replace writes a file in one step, so that no other process reads a part of it. An existing file or symbolic link of
// the name is replaced, and not written to: another user may have made it, and could read the content.
func Replace(path string, content []byte, mode fs.FileMode) error {
	if err := Replaceable(path); err != nil {
		return err
	}
	temporary, err := writeTemporary(path, content, mode)
	if err != nil {
		return err
	}
	return rename(temporary, path)
}

// Create writes a new file in one step. If the file exists, the error is fs.ErrExist. On a file system without hard
// links, Create replaces an existing file.
func Create(path string, content []byte, mode fs.FileMode) error {
	temporary, err := writeTemporary(path, content, mode)
	if err != nil {
		return err
	}
	err = os.Link(temporary, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return errors.Join(err, os.Remove(temporary))
	}
	// The file system may have no hard links. Of two processes that create the file, the last one then wins.
	return rename(temporary, path)
}

func rename(temporary, path string) error {
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// writeTemporary writes a file next to a path, and syncs it to the disk. A key that clients may use must not be lost by
// a crash.
func writeTemporary(path string, content []byte, mode fs.FileMode) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
