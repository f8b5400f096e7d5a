//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package miniapitest

import "os"

// tryLock returns false: on this system, package syscall has no locks that end with the process.
func tryLock(*os.File) bool { return false }
