package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"
)

// trusted is an authority that this process trusts, as one of the system's.
var trusted *authority

func TestMain(m *testing.M) {
	// The logs of many parallel servers can't be told apart, so they are dropped.
	klog.SetLogger(klog.Logger{})
	code, err := runTrusting(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// runTrusting adds the authority to the system's roots, which the process reads once, and then runs the tests.
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
