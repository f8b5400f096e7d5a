//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package miniapitest

import (
	"os"
	"syscall"
)

// tryLock locks an open file. The lock ends when the file is closed, or when the process ends.
func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
