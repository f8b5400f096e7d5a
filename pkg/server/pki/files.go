package pki

import (
	"io/fs"
	"os"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// These are the modes of files. Only the owner may read keys. Everyone may read certificates, because they are no
// secret.
const (
	keyMode    fs.FileMode = 0o600
	certMode   fs.FileMode = 0o644
	folderMode fs.FileMode = 0o755
)

// create writes a new file, and makes the folder if needed. If the file exists, the error is fs.ErrExist.
func (s *Store) create(file string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(s.dir, folderMode); err != nil {
		return err
	}
	return files.Create(s.Path(file), content, mode)
}

// replace writes a certificate in place of an existing one.
func (s *Store) replace(file string, content []byte) error {
	return files.Replace(s.Path(file), content, certMode)
}
