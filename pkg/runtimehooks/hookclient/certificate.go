package hookclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Certificate is a client certificate that is read from two files. The files may change.
type Certificate struct {
	certFile, keyFile string

	mu      sync.Mutex
	states  [2]fileState // the states of the two files when they were read
	pem     [2][]byte
	current *tls.Certificate
}

// NewCertificate reads a certificate and its key from files in PEM.
func NewCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	_, err := c.Reload()
	return c, err
}

// fileState is the time and the size of a file. If one of them differs, the file has changed.
type fileState struct {
	modified time.Time
	size     int64
}

// Reload reads the files again if they have changed. While another process replaces the files, the certificate may not
// match the key, or a file may be missing. Reload then keeps the old certificate, and returns an error only if there is
// no old certificate.
func (c *Certificate) Reload() (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var states [2]fileState
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return false, c.unless(fmt.Errorf("client certificate: %w", err))
		}
		states[i] = fileState{info.ModTime(), info.Size()}
	}
	if states == c.states {
		return false, nil
	}
	cert, certErr := os.ReadFile(c.certFile)
	key, keyErr := os.ReadFile(c.keyFile)
	pair, pairErr := tls.X509KeyPair(cert, key)
	if err := errors.Join(certErr, keyErr, pairErr); err != nil {
		return false, c.unless(fmt.Errorf("client certificate %q with key %q: %w", c.certFile, c.keyFile, err))
	}
	c.states, c.pem, c.current = states, [2][]byte{cert, key}, &pair
	return true, nil
}

// PEM returns the certificate and its key.
func (c *Certificate) PEM() (cert, key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pem[0], c.pem[1]
}

// unless returns nil if the files have been read before: then the earlier certificate can still be used. Otherwise it
// returns err.
func (c *Certificate) unless(err error) error {
	if c.current != nil {
		return nil
	}
	return err
}

// get implements tls.Config.GetClientCertificate.
func (c *Certificate) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, nil
}
