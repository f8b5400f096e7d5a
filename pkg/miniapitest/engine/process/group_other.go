//go:build !unix

package process

import "syscall"

// ownGroup is nil where there are no groups of processes.
var ownGroup *syscall.SysProcAttr
