//go:build !unix

package process

import "syscall"

// ownGroup is nil, because this system has no process groups.
var ownGroup *syscall.SysProcAttr
