package pki

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Modes of files: keys are for their owner alone, certificates are no secret.
const (
	keyMode    fs.FileMode = 0o600
	certMode   fs.FileMode = 0o644
	folderMode fs.FileMode = 0o755
)

// create writes a file that isn't there yet, complete from the moment that it is seen. It fails with fs.ErrExist if it
// is there.
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
	// The file system has no links: nothing there tells who was first.
	return rename(temporary, s.Path(file))
}

// replace writes a certificate in the place of another.
func (s *Store) replace(file string, content []byte) error {
	return WriteFile(s.Path(file), content, certMode)
}

// WriteFile writes a file in the place of one that may be there, complete from the moment that it is seen.
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

// writeTemporary writes a file beside a path, and on to the disk: a key that is seen must not be lost again.
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
