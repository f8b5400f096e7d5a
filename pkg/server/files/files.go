// Package files checks the files that flags name, and writes files.
//
// At the start of a server, [Pair], [Authorities] and [Readable] check a kind of file each. Libraries read the files
// later, and most of their errors don't name the flag. [Replace] and [Create] write every file of the program that isn't
// in a folder of its own, and [MakeFolder] makes a folder for such files. Don't use the package to read files: package reload reads files that change.
package files

import (
	"crypto/tls"
	"fmt"
	"io/fs"
	"os"

	certutil "k8s.io/client-go/util/cert"
)

// Pair checks the files of a certificate and its key. The file names are the values of two flags. Errors name the
// flags. If one of the files is a pipe, such as a shell's <(...), Pair reads neither: a pipe can be read only once.
func Pair(certFlag, certFile, keyFlag, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return nil
	}
	if certFile == "" || keyFile == "" {
		return fmt.Errorf("--%s %q and --%s %q: must be given together", certFlag, certFile, keyFlag, keyFile)
	}
	if isPipe(certFile) || isPipe(keyFile) {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		return fmt.Errorf("--%s %s and --%s %s: %w", certFlag, certFile, keyFlag, keyFile, err)
	}
	return nil
}

// Authorities checks a file of certificates that a flag names. It doesn't read a pipe, such as a shell's <(...): a pipe
// can be read only once.
func Authorities(flag, file string) error {
	if err := Readable(flag, file); err != nil || !Rereadable(file) {
		return err
	}
	if _, err := certutil.CertsFromFile(file); err != nil {
		return fmt.Errorf("--%s %s: must be a file of PEM encoded certificates: %w", flag, file, err)
	}
	return nil
}

// Rereadable tells whether the file exists and can be read more than once. A pipe can be read only once.
func Rereadable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

func isPipe(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}

// Readable checks that a file can be read, but doesn't check its content. It doesn't open a pipe, such as a shell's
// <(...): a pipe can be read only once.
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
