//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filelock

import (
	"os"
	"syscall"
)

// Supported tells whether the system has locks that end with the process.
const Supported = true

// Try locks an open file. It returns false if the file is locked already, or can't be locked. The lock ends when the
// file is closed, or when the process ends.
func Try(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
