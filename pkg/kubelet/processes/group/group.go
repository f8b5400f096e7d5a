// Package group runs commands as groups of processes, which end as a whole. No process is left when this process ends,
// even if it is killed.
//
// On Linux, a command may have a [View] of the file system, in which folders lie at paths that this machine doesn't have.
package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Command is what a group begins with.
type Command struct {
	// Args are the program and its arguments. A program without a path is searched in PATH, and a relative path is
	// relative to the working directory of this process.
	Args []string
	Env  []string
	Dir  string
	// View is how the group sees the file system. A nil View is that of this process.
	View *View
	// Stdin may be nil. The writers may be nil, too.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal gives the group a terminal for its input and all of its output, which Stdout gets.
	Terminal bool
}

// Size is the size of a terminal, in characters.
type Size struct{ Width, Height uint16 }

// outputTimeout limits the time for the output of processes that have left their group.
const outputTimeout = time.Second

// Groups are the groups that end together.
type Groups struct {
	// Init is the command line of this program that calls [Init]. Without it, no command can have a View.
	Init []string

	folder string
	guard  func() (*guard, error)
	view   func() (viewer, error)
}

// New returns Groups without a group. When they are closed, and when this process is killed, the folder is removed, too.
func New(folder string, init []string) *Groups {
	g := &Groups{Init: init, folder: folder}
	g.guard = sync.OnceValues(func() (*guard, error) { return newGuard(folder) })
	g.view = sync.OnceValues(g.findViewer)
	return g
}

// Close removes the folder. All groups must have ended.
func (g *Groups) Close() error {
	guard, err := g.guard()
	if err != nil {
		return os.RemoveAll(g.folder)
	}
	return errors.Join(guard.close(), os.RemoveAll(g.folder))
}

// HasViews reports whether commands can have a View. If they can't, the error says why.
func (g *Groups) HasViews() error {
	_, err := g.view()
	return err
}

// Group is a running group.
type Group struct {
	command *exec.Cmd
	guard   *guard
	handle  handle
	copying sync.WaitGroup
	outputs []*os.File
	// terminal is the end of the user, or nil.
	terminal *os.File
	// report has what Init says if it can't become the command. It is nil without a view.
	report *os.File
}

// Start starts a command. It fails for a program that doesn't exist or can't be executed.
func (g *Groups) Start(c Command) (*Group, error) {
	guard, err := g.guard()
	if err != nil {
		return nil, err
	}
	path, err := lookPath(c.Args[0])
	if err != nil {
		return nil, err
	}
	started := &Group{guard: guard, command: &exec.Cmd{Path: path, Args: c.Args, Env: c.Env, Dir: c.Dir, SysProcAttr: attributes()}}
	if c.View != nil {
		view, err := g.view()
		if err == nil {
			err = view.wrap(started.command, c.View)
		}
		if err == nil {
			err = started.connectReport()
		}
		if err != nil {
			return nil, err
		}
	}
	if err := started.start(c); err != nil {
		return nil, err
	}
	if err := started.awaitCommand(); err != nil {
		started.Wait()
		return nil, err
	}
	return started, nil
}

// connectReport opens the pipe through which Init reports an error. Init becomes the command when it closes the pipe.
func (p *Group) connectReport() error {
	read, write, err := os.Pipe()
	if err == nil {
		p.report, p.command.ExtraFiles = read, []*os.File{write}
	}
	return err
}

// awaitCommand waits until Init has become the command.
func (p *Group) awaitCommand() error {
	if p.report == nil {
		return nil
	}
	defer p.report.Close()
	text, err := io.ReadAll(p.report)
	if err == nil && len(text) > 0 {
		err = errors.New(string(text))
	}
	return err
}

// lookPath returns the absolute path of a program.
func lookPath(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", err
	}
	return filepath.Abs(path)
}

func (p *Group) start(c Command) error {
	connect := p.connectPipes
	if c.Terminal {
		connect = p.connectTerminal
	}
	input, ends, err := connect(c)
	ends = append(ends, p.command.ExtraFiles...)
	defer func() {
		for _, end := range ends {
			_ = end.Close()
		}
	}()
	if err == nil {
		if err = p.command.Start(); err == nil {
			p.handle, err = p.guard.add(p.command.Process)
		}
	}
	if err != nil {
		p.closeOutputs()
		_ = p.report.Close()
		return err
	}
	if c.Stdin != nil {
		go func() { // ends with the input, or when the command has gone
			_, _ = io.Copy(input, c.Stdin)
			if !c.Terminal { // the command may write more
				_ = input.Close()
			}
		}()
	}
	return nil
}

// connectTerminal opens a terminal for the command. It returns where input is written, and the end of the command.
func (p *Group) connectTerminal(c Command) (input io.WriteCloser, ends []*os.File, err error) {
	user, end, err := openTerminal()
	if err != nil {
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	p.terminal, p.outputs = user, append(p.outputs, user)
	p.command.Stdin, p.command.Stdout, p.command.Stderr = end, end, end
	controlTerminal(p.command.SysProcAttr)
	output := c.Stdout
	if output == nil {
		output = io.Discard
	}
	p.copying.Go(func() { _, _ = io.Copy(output, user) })
	return user, []*os.File{end}, nil
}

// connectPipes opens pipes for the command. It returns where input is written, and the ends of the command.
func (p *Group) connectPipes(c Command) (input io.WriteCloser, ends []*os.File, err error) {
	for _, output := range []struct {
		file *io.Writer
		to   io.Writer
	}{{&p.command.Stdout, c.Stdout}, {&p.command.Stderr, c.Stderr}} {
		if output.to == nil {
			continue
		}
		read, write, err := os.Pipe()
		if err != nil {
			return nil, ends, err
		}
		ends, p.outputs = append(ends, write), append(p.outputs, read)
		*output.file = write
		p.copying.Go(func() { _, _ = io.Copy(output.to, read) })
	}
	if c.Stdin != nil {
		input, err = p.command.StdinPipe()
	}
	return input, ends, err
}

func (p *Group) closeOutputs() {
	for _, output := range p.outputs {
		_ = output.Close()
	}
	p.copying.Wait()
}

// Wait waits for the end of the command, ends the rest of the group, and returns the exit code. It is 128 and the number of
// the signal for a command that a signal has ended.
func (p *Group) Wait() int {
	_ = p.command.Wait() // the state says more
	p.handle.kill()
	p.guard.remove(p.command.Process)
	for _, output := range p.outputs {
		_ = output.SetReadDeadline(time.Now().Add(outputTimeout))
	}
	p.copying.Wait()
	p.closeOutputs()
	p.handle.close()
	return exitCode(p.command.ProcessState)
}

// Terminate asks the processes of the group to end.
func (p *Group) Terminate() { p.handle.terminate() }

// Kill ends the group at once.
func (p *Group) Kill() { p.handle.kill() }

// Resize sets the size of the terminal of the group, if it has one.
func (p *Group) Resize(s Size) error {
	if p.terminal == nil {
		return nil
	}
	return setSize(p.terminal, s)
}

// Run runs a command until it ends, or until ctx ends. It returns the exit code.
func (g *Groups) Run(ctx context.Context, c Command) (int, error) {
	started, err := g.Start(c)
	if err != nil {
		return 0, err
	}
	return started.WaitOrKill(ctx)
}

// WaitOrKill waits for the end of the group as Wait does, and ends the group when ctx ends.
func (p *Group) WaitOrKill(ctx context.Context) (int, error) {
	stop := context.AfterFunc(ctx, p.Kill)
	code := p.Wait()
	if !stop() {
		return code, context.Cause(ctx)
	}
	return code, nil
}

// View has folders and files that a group sees at other paths.
type View struct {
	Binds []Bind `json:"binds"`
	// Folder has the folders in which paths are added. It belongs to the container, and keeps what is written there.
	Folder string `json:"folder"`
}

// Bind is a folder or a file, and the path at which a group sees it.
type Bind struct {
	From string `json:"from"`
	To   string `json:"to"`
	// ReadOnly keeps the group from changing it.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Resolve returns the path of this machine for a path in the view, or false if no bind leads there.
func (v View) Resolve(path string) (string, bool) {
	best := Bind{}
	for _, b := range v.Binds {
		if (path == b.To || strings.HasPrefix(path, strings.TrimSuffix(b.To, "/")+"/")) && len(b.To) > len(best.To) {
			best = b
		}
	}
	if best.To == "" {
		return "", false
	}
	return filepath.Join(best.From, strings.TrimPrefix(path, best.To)), true
}

var errNoViews = errors.New("views of the file system: need Linux, with the permission to make mount namespaces")
