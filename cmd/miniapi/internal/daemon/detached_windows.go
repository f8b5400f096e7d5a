package daemon

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached starts a process without a console, so that it doesn't end with the terminal.
var detached = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
