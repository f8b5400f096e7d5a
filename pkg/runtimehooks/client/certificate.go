package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Certificate is a client certificate in two files, which may change.
type Certificate struct {
	certFile, keyFile string

	mu      sync.Mutex
	states  [2]fileState // of the files, as they were read
	pem     [2][]byte
	current *tls.Certificate
}

// NewCertificate reads a certificate and its key, in PEM.
func NewCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	_, err := c.Reload()
	return c, err
}

// fileState has the time and the size by which a changed file is recognized.
type fileState struct {
	modified time.Time
	size     int64
}

// Reload reads the files if they have changed. While the files are being replaced, certificate and key may not
// match: then the certificate stays unchanged.
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

// unless returns nil if there is an earlier certificate to use instead.
func (c *Certificate) unless(err error) error {
	if c.current != nil {
		return nil
	}
	return err
}

// get is tls.Config.GetClientCertificate.
func (c *Certificate) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, nil
}
