package processes

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/endpoint"
	"github.com/miniapi-dev/miniapi/pkg/kubelet/processes/group"
)

// console is the input and the output of a run of a container, for the clients that attach to it.
type console struct {
	// stdin is the input of the process, or nil if the container has none. It ends with input.
	stdin *io.PipeReader
	input *io.PipeWriter
	// resize sets the size of the terminal of the process. It is set before the console can be reached.
	resize func(group.Size) error
	ended  context.Context
	end    context.CancelFunc

	mu      sync.Mutex
	clients map[*endpoint.Streams]struct{}
}

// newConsole returns the console of a run, which may have an input.
func newConsole(input bool) *console {
	c := &console{clients: map[*endpoint.Streams]struct{}{}}
	if input {
		c.stdin, c.input = io.Pipe()
	}
	c.ended, c.end = context.WithCancel(context.Background())
	return c
}

// connect makes the console the input of a command, and a reader of its output.
func (c *console) connect(command *group.Command) {
	if c.stdin != nil {
		command.Stdin = c.stdin
	}
	command.Stdout = output{command.Stdout, c, func(s *endpoint.Streams) io.Writer { return s.Stdout }}
	command.Stderr = output{command.Stderr, c, func(s *endpoint.Streams) io.Writer { return s.Stderr }}
}

// close ends the sessions of the clients, after the end of the run.
func (c *console) close() {
	c.end()
	if c.stdin != nil {
		_ = c.stdin.Close() // never fails
	}
}

// output is a stream of output, for the log and for the clients.
type output struct {
	io.Writer
	console *console
	of      func(*endpoint.Streams) io.Writer
}

// Write implements io.Writer. A client whose connection has failed gets no more.
func (o output) Write(p []byte) (int, error) {
	o.console.mu.Lock()
	for client := range o.console.clients {
		if to := o.of(client); to != nil {
			if _, err := to.Write(p); err != nil {
				delete(o.console.clients, client)
			}
		}
	}
	o.console.mu.Unlock()
	return o.Writer.Write(p)
}

// attach connects a client until the run ends, or until ctx ends. The end of the client's input ends the session, too, but
// with once, it ends the input of the process.
func (c *console) attach(ctx context.Context, streams endpoint.Streams, once bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.clients[&streams] = struct{}{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.clients, &streams)
	}()
	if streams.TTY {
		go resize(streams, c.resize)
	}
	if streams.Stdin != nil && c.input != nil {
		go func() { // ends with the connection
			_, _ = io.Copy(c.input, streams.Stdin)
			if once {
				_ = c.input.Close() // never fails
			} else {
				cancel()
			}
		}()
	}
	select {
	case <-ctx.Done():
	case <-c.ended.Done():
	}
	return nil
}

// resize passes the sizes of a client's terminal on, until the connection ends.
func resize(streams endpoint.Streams, to func(group.Size) error) {
	if streams.Sizes == nil {
		return
	}
	for size := range streams.Sizes {
		_ = to(group.Size(size)) // the process has ended
	}
}

// errNoRun is the error of a client that attaches while the container doesn't run.
var errNoRun = errors.New("the container isn't running")

// Attach implements endpoint.Process.
func (p process) Attach(ctx context.Context, streams endpoint.Streams) error {
	p.mu.Lock()
	console := p.console
	p.mu.Unlock()
	if console == nil {
		return errNoRun
	}
	return console.attach(ctx, streams, p.spec.StdinOnce && !p.spec.TTY)
}
