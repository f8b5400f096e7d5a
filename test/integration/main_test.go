package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"
)

// trusted is an authority that this process trusts in addition to the authorities of the operating system.
var trusted *authority

func TestMain(m *testing.M) {
	// Many servers run at the same time, and their log lines can't be told apart, so the log is dropped.
	klog.SetLogger(klog.Logger{})
	code, err := runTrusting(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// runTrusting makes the process trust the authority, and then runs the tests. Go reads the system's authorities only
// once, at their first use.
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
	// In a Go program, this variable names the file with the system's authorities.
	if err := os.Setenv("SSL_CERT_FILE", file); err != nil { //nolint:forbidigo // crypto/x509 has no other way to name the roots
		return 1, err
	}
	return m.Run(), nil
}
