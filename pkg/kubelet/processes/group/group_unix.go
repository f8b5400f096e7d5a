//go:build unix

package group

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// guardScript kills the groups whose IDs it has read, and removes the folder in its argument, when its input ends. A
// process that is killed can't do this itself.
const guardScript = `groups=
while read -r sign group; do
	case $sign in
	+) groups="$groups $group" ;;
	-)
		rest=
		for g in $groups; do [ "$g" = "$group" ] || rest="$rest $g"; done
		groups=$rest
		;;
	esac
done
for g in $groups; do kill -s KILL -- "-$g"; done 2>/dev/null
rm -rf -- "$1"`

// guard is a process that ends the groups when this process ends.
type guard struct {
	command *exec.Cmd
	input   io.WriteCloser
}

func newGuard(folder string) (*guard, error) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil, fmt.Errorf("the shell that ends the processes of pods when the server is killed: %w", err)
	}
	g := &guard{command: exec.Command(shell, "-c", guardScript, "sh", folder)}
	g.command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it survives signals to the group of this process
	g.command.Dir = "/"
	if g.input, err = g.command.StdinPipe(); err != nil {
		return nil, err
	}
	return g, g.command.Start()
}

func (g *guard) close() error { return errors.Join(g.input.Close(), g.command.Wait()) }

func (g *guard) add(p *os.Process) (handle, error) {
	h := handle{p.Pid}
	if _, err := fmt.Fprintf(g.input, "+ %d\n", p.Pid); err != nil {
		h.kill()
		_, _ = p.Wait()
		return h, err
	}
	return h, nil
}

func (g *guard) remove(p *os.Process) { _, _ = fmt.Fprintf(g.input, "- %d\n", p.Pid) }

// handle is a process group.
type handle struct{ id int }

func (h handle) terminate() { _ = syscall.Kill(-h.id, syscall.SIGTERM) }
func (h handle) kill()      { _ = syscall.Kill(-h.id, syscall.SIGKILL) }
func (h handle) close()     {}

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
