package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"
)

// trusted is an authority that this machine trusts, as far as this process is concerned.
var trusted *authority

func TestMain(m *testing.M) {
	// What the servers of many tests log at the same time tells nothing about any of them.
	klog.SetLogger(klog.Logger{})
	code, err := runTrusting(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// runTrusting runs the tests after it has made the authority one of the system's roots, which
// are read once.
func runTrusting(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "miniapi-integration-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if trusted, err = newAuthority(); err != nil {
		return 1, err
	}
	file := filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(file, trusted.pem, 0o600); err != nil {
		return 1, err
	}
	if err := os.Setenv("SSL_CERT_FILE", file); err != nil { //nolint:forbidigo // there is no other way to name the system's roots
		return 1, err
	}
	return m.Run(), nil
}
