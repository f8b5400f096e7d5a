// Package files checks the files that flags name, before something reads them that doesn't name the flag in its errors.
// Don't use it to read them: package reload follows the files that change.
package files

import (
	"crypto/tls"
	"fmt"
	"os"

	certutil "k8s.io/client-go/util/cert"
)

// Pair checks a certificate and its key, each the value of a flag.
func Pair(certFlag, certFile, keyFlag, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return nil
	}
	if certFile == "" || keyFile == "" {
		return fmt.Errorf("--%s and --%s must be given together", certFlag, keyFlag)
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		return fmt.Errorf("--%s %s and --%s %s: %w", certFlag, certFile, keyFlag, keyFile, err)
	}
	return nil
}

// Authorities checks a file of certificates, the value of a flag. It leaves a pipe to what reads it later.
func Authorities(flag, file string) error {
	if err := Readable(flag, file); err != nil || !Rereadable(file) {
		return err
	}
	if _, err := certutil.CertsFromFile(file); err != nil {
		return fmt.Errorf("--%s %s: must be a file of PEM encoded certificates: %w", flag, file, err)
	}
	return nil
}

// Rereadable says that a file isn't a pipe, which can be read once.
func Rereadable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

// Readable leaves what is in a file to what reads it later, and a pipe, as a shell's <(...) is one, altogether:
// it can be read once.
func Readable(flag, file string) error {
	if file == "" {
		return nil
	}
	info, err := os.Stat(file)
	if err == nil && (info.Mode().IsRegular() || info.IsDir()) {
		_, err = os.ReadFile(file)
	}
	if err != nil {
		return fmt.Errorf("--%s %s: %w", flag, file, err)
	}
	return nil
}
