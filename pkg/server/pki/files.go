package pki

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// These are the modes of files. Only the owner may read keys. Everyone may read certificates, because they are no
// secret.
const (
	keyMode    fs.FileMode = 0o600
	certMode   fs.FileMode = 0o644
	folderMode fs.FileMode = 0o755
)

// create writes a new file in one step, so that no other process reads a part of it. If the file exists, the error is
// fs.ErrExist. On a file system without hard links, create replaces an existing file.
func (s *Store) create(file string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(s.dir, folderMode); err != nil {
		return err
	}
	temporary, err := writeTemporary(s.Path(file), content, mode)
	if err != nil {
		return err
	}
	err = os.Link(temporary, s.Path(file))
	if err == nil || errors.Is(err, fs.ErrExist) {
		return errors.Join(err, os.Remove(temporary))
	}
	// The file system may have no hard links. Of two processes that create the file, the last one then wins.
	return rename(temporary, s.Path(file))
}

// replace writes a certificate in place of an existing one.
func (s *Store) replace(file string, content []byte) error {
	return WriteFile(s.Path(file), content, certMode)
}

// WriteFile writes or replaces a file in one step, so that no other process reads a part of it.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	temporary, err := writeTemporary(path, content, mode)
	if err != nil {
		return err
	}
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
