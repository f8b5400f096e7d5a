//go:build unix

package process

import "syscall"

// ownGroup puts a miniapi process into a process group of its own. So a signal of the terminal, such as Ctrl-C, doesn't
// end the process before it has removed its files: miniapi removes the files after the test process has ended.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}
