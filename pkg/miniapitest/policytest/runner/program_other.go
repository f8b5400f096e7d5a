//go:build !unix

package runner

import "os/exec"

// inGroup does nothing, because the system has no process groups.
func inGroup(*exec.Cmd) {}

func terminate(command *exec.Cmd) { _ = command.Process.Kill() } // the process may have ended

func kill(command *exec.Cmd) { _ = command.Process.Kill() }
