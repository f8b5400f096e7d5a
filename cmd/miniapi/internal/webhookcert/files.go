package webhookcert

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// The files of a webhook's certificate. controller-runtime reads tls.crt and tls.key.
const (
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
	CAFile   = "ca.crt"
)

// Files are the contents of the files of a certificate.
type Files struct {
	chain, key, ca []byte
	issued         *x509.Certificate
}

// New returns the files of a certificate. The argument chain has the certificate in PEM and ends with the certificate of
// its authority, which becomes the file ca.crt.
func New(chain, key []byte) (*Files, error) {
	certificates, err := certutil.ParseCertsPEM(chain)
	if err != nil {
		return nil, fmt.Errorf("must be PEM: %w", err)
	}
	ca, err := certutil.EncodeCertificates(certificates[len(certificates)-1])
	if err != nil {
		return nil, err
	}
	return &Files{chain: chain, key: key, ca: ca, issued: certificates[0]}, nil
}

// Write writes the files to a folder, which it makes if needed. It returns an error if the folder has a certificate or a
// key that miniapi hasn't made, or if another user has made the folder where every user may write.
func (f *Files) Write(dir string) error {
	if err := files.MakeFolder(dir); err != nil {
		return err
	}
	if err := f.checkReplaceable(dir); err != nil {
		return err
	}
	for _, file := range []struct {
		name    string
		content []byte
		mode    fs.FileMode
	}{{KeyFile, f.key, 0o600}, {CertFile, f.chain, 0o644}, {CAFile, f.ca, 0o644}} {
		if err := files.Replace(filepath.Join(dir, file.name), file.content, file.mode); err != nil {
			return err
		}
	}
	return nil
}

// checkReplaceable returns an error if a folder has a certificate or key that miniapi hasn't made. A certificate is from
// miniapi if it has the same issuer name as the new certificate.
func (f *Files) checkReplaceable(dir string) error {
	// A pipe would make the reading wait.
	if err := files.Replaceable(filepath.Join(dir, CertFile)); err != nil {
		return fmt.Errorf("%s %w", CertFile, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, CertFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, keyErr := os.Lstat(filepath.Join(dir, KeyFile))
	if err != nil && errors.Is(keyErr, fs.ErrNotExist) {
		return nil
	}
	if there, err := certutil.ParseCertsPEM(text); err == nil && bytes.Equal(there[0].RawIssuer, f.issued.RawIssuer) {
		return nil
	}
	return fmt.Errorf("%s or %s exists and isn't miniapi's: choose another folder, or remove the files", CertFile, KeyFile)
}
