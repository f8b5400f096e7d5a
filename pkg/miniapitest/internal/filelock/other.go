//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filelock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// safely is 0, because package syscall doesn't have the flags on all of these systems.
const safely = 0

// lock always fails, because package syscall has no locks on this system that end with the process.
func lock(file *os.File) error {
	return fmt.Errorf("locking %s: %w", file.Name(), errors.ErrUnsupported)
}

// IsPrivate returns false, because package syscall doesn't have the owners of files on all of these systems.
func IsPrivate(fs.FileInfo) bool { return false }
