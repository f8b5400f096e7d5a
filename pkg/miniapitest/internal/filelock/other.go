//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package filelock

import "os"

// Supported tells whether the system has locks that end with the process.
const Supported = false

// Try always returns false, because package syscall has no locks on this system that end with the process.
func Try(*os.File) bool { return false }
