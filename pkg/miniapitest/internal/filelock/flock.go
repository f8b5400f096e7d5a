//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package filelock

import (
	"os"
	"syscall"
)

// Supported tells whether the system has locks that end with the process.
const Supported = true

// Try locks an open file, and returns false if another process has locked it. The lock ends when the file is closed, or
// when the process ends. If Supported is false, Try always returns false.
func Try(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
