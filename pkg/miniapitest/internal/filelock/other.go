//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// openFile opens a file. On these systems, package syscall lacks flags that would refuse links and pipes.
func openFile(name string, flag int) (*os.File, error) { return os.OpenFile(name, flag, 0o600) }

// lock always fails, because package syscall has no locks on this system that end with the process.
func lock(file *os.File) error {
	return fmt.Errorf("locking %s: %w", file.Name(), errors.ErrUnsupported)
}

// IsPrivate returns false, because package syscall doesn't have the owners of files on all of these systems.
func IsPrivate(fs.FileInfo) bool { return false }
