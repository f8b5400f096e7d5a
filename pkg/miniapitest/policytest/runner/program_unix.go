//go:build unix

package runner

import (
	"os/exec"
	"syscall"
)

// inGroup makes a command the leader of a process group, so that a signal reaches all processes that it starts.
func inGroup(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(command *exec.Cmd) { _ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM) } // the group may have ended

func kill(command *exec.Cmd) { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
