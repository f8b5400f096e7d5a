//go:build unix

package process

import "syscall"

// ownGroup keeps the signals of the terminal, such as Ctrl-C, from a miniapi process: it ends with its test process, and
// removes its files.
var ownGroup = &syscall.SysProcAttr{Setpgid: true}
