//go:build !unix && !windows

package process

import "syscall"

// ownGroup is nil, because this system has no process groups.
var ownGroup *syscall.SysProcAttr
