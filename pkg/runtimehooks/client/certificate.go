package client

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// clientCertificate is the certificate in two files, which may change.
type clientCertificate struct {
	certFile, keyFile string

	mu      sync.Mutex
	states  [2]fileState // of the files, as they were read
	current *tls.Certificate
}

// fileState tells a file from what it was.
type fileState struct {
	modified time.Time
	size     int64
}

// reload reads the files if they have changed. While the files are being replaced, certificate and key may not
// match: then the certificate stays unchanged.
func (c *clientCertificate) reload() (changed bool, err error) {
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
	certificate, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return false, c.unless(fmt.Errorf("client certificate %q with key %q: %w", c.certFile, c.keyFile, err))
	}
	c.states, c.current = states, &certificate
	return true, nil
}

// unless returns nil if there is an earlier certificate to use instead.
func (c *clientCertificate) unless(err error) error {
	if c.current != nil {
		return nil
	}
	return err
}

// get is tls.Config.GetClientCertificate.
func (c *clientCertificate) get(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, nil
}
