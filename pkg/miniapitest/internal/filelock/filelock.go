// Package filelock locks files between processes, also in folders that the user shares with other users of the machine. A
// lock ends with its process, even if the process is killed. Don't use the package for locks between goroutines: package
// sync has those.
package filelock

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrLocked is the error of Create and Open for a file that is locked already.
var ErrLocked = errors.New("the file is locked")

// Create opens and locks a file. It makes a missing file. The lock ends when the file is closed, or when the process ends.
// If the file is locked already, the error is ErrLocked. If the system has no locks that end with the process, the error
// wraps errors.ErrUnsupported.
func Create(name string) (*os.File, error) { return openLocked(name, os.O_CREATE|os.O_RDWR) }

// Open is like Create, but doesn't make a missing file.
func Open(name string) (*os.File, error) { return openLocked(name, os.O_RDWR) }

func openLocked(name string, flag int) (*os.File, error) {
	file, err := open(name, flag)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	// Another process may have removed the file before it was locked.
	opened, openedErr := file.Stat()
	named, err := os.Lstat(name)
	if err == nil && !os.SameFile(opened, named) {
		err = fmt.Errorf("%s was replaced before it was locked", name)
	}
	if err := errors.Join(openedErr, err); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// ReadFile reads a file as os.ReadFile does, but neither follows a link nor waits for a pipe.
func ReadFile(name string) ([]byte, error) {
	file, err := open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// open opens a regular file.
func open(name string, flag int) (*os.File, error) {
	file, err := openFile(name, flag)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s must be a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
