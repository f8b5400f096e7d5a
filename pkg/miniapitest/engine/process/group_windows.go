package process

import "syscall"

// ownGroup puts a miniapi process into a process group of its own. So Ctrl-C in the console doesn't end the process before
// it has removed its files: miniapi removes the files after the test process has ended.
var ownGroup = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
