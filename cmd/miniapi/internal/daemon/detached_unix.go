//go:build unix

package daemon

import "syscall"

// detached starts a process in a session of its own, so that it doesn't end with the terminal.
var detached = &syscall.SysProcAttr{Setsid: true}
