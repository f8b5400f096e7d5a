package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/wire"
)

// host is a miniapi process.
type host struct {
	key     string
	usual   bool
	users   int // the number of running servers, guarded by the engine's mu
	command *exec.Cmd
	in      *os.File
	out     *os.File
	errors  *os.File
	writer  *wire.Writer
	reader  *wire.Reader
	// listening counts the goroutines that read from the process.
	listening sync.WaitGroup

	mu      sync.Mutex
	last    int64 // the number of the last call
	calls   map[int64]chan wire.Reply
	servers map[int64]*server
	paused  bool
	// sent has the numbers of the contents that the process has stored. sending is locked while a content is sent.
	sending sync.Mutex
	sent    map[*engine.Content]int64
	// failed is the reason why the process can't be used. It has its value when gone is closed.
	failed error
	gone   chan struct{}
	stderr tail
}

// startHost starts the program, and waits for its first reply.
func startHost(ctx context.Context, program, key string, usual bool) (_ *host, err error) {
	h := &host{
		key: key, usual: usual, command: exec.Command(program, "host"),
		calls: map[int64]chan wire.Reply{}, servers: map[int64]*server{}, sent: map[*engine.Content]int64{}, gone: make(chan struct{}),
	}
	var childFiles []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	var stdin, stdout, stderr *os.File
	stdin, h.in = pipe()
	h.out, stdout = pipe()
	h.errors, stderr = pipe()
	childFiles = []*os.File{stdin, stdout, stderr}
	h.command.Stdin, h.command.Stdout, h.command.Stderr = stdin, stdout, stderr
	h.command.SysProcAttr = ownGroup
	if err == nil {
		err = h.command.Start()
	}
	for _, f := range childFiles {
		_ = f.Close() // Close of a nil file only returns an error
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	h.writer, h.reader = wire.NewWriter(h.in), wire.NewReader(h.out)
	if err := h.greet(ctx, program); err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// greeting limits the time until the program has sent its version of the protocol.
const greeting = 30 * time.Second

// greet reads the first reply, which has the version of the protocol.
func (h *host) greet(ctx context.Context, program string) error {
	var first wire.Reply
	ctx, cancel := context.WithTimeoutCause(ctx, greeting, fmt.Errorf("no reply within %s", greeting))
	defer cancel()
	// The end of ctx interrupts the read. If the pipe doesn't support deadlines, the read continues until the program
	// replies or ends.
	defer context.AfterFunc(ctx, func() { _ = h.out.SetReadDeadline(time.Now()) })()
	err := h.reader.Read(&first)
	switch {
	case err == nil && first.Hello != nil && first.Hello.Protocol == wire.Protocol:
		return nil
	case err == nil && first.Hello != nil:
		return fmt.Errorf("%s is miniapi %s with version %d of the protocol for tests, and this fixture needs version %d: use a program of the fixture's own version, or leave $MINIAPI unset",
			program, first.Hello.Version, first.Hello.Protocol, wire.Protocol)
	case err == nil:
		err = errors.New("the first line of the output lacks the version of the protocol for tests")
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	_ = h.in.Close()
	h.readErrors(time.Now().Add(time.Second))
	_ = h.command.Process.Kill() // a program that isn't miniapi may not end at the end of its input
	return fmt.Errorf("%s hasn't begun to serve tests, as a miniapi program of this fixture's version does: %w%s", program, err, h.stderr.explain())
}

func (h *host) pid() int { return h.command.Process.Pid }

// listen starts the goroutines that read from the process.
func (h *host) listen() {
	h.mu.Lock()
	h.paused = false
	h.mu.Unlock()
	_ = h.out.SetReadDeadline(time.Time{})
	_ = h.errors.SetReadDeadline(time.Time{})
	h.listening.Add(2)
	go h.readErrorsOn()
	go func() {
		defer h.listening.Done()
		for {
			var reply wire.Reply
			if err := h.reader.Read(&reply); err != nil {
				h.stopReading(err)
				return
			}
			h.take(reply)
		}
	}()
}

// pause ends the goroutines that read from the process. It is called when the process has no server any more.
func (h *host) pause() {
	h.mu.Lock()
	h.paused = true
	h.mu.Unlock()
	_ = h.out.SetReadDeadline(time.Now())
	_ = h.errors.SetReadDeadline(time.Now())
	h.listening.Wait()
}

// stopReading is called after a failed read. The read fails after a call of pause. It also fails if the process has
// ended, or has written something that isn't a reply: then all servers of the process end with an error.
func (h *host) stopReading(err error) {
	h.mu.Lock()
	paused := h.paused
	h.mu.Unlock()
	if paused && errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	_ = h.in.Close() // if the process still runs, this ends it
	state := "has ended"
	if !errors.Is(err, io.EOF) {
		state = fmt.Sprintf("can't be understood: %v", err)
	}
	h.readErrors(time.Now().Add(time.Second))
	waited := h.command.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = fmt.Errorf("the miniapi process %d %s", h.pid(), state)
	if waited != nil {
		h.failed = fmt.Errorf("%w: %w", h.failed, waited)
	}
	h.failed = fmt.Errorf("%w%s", h.failed, h.stderr.explain())
	close(h.gone)
	for _, s := range h.servers {
		s.close(h.failed)
	}
}

// usable returns false after the process has failed.
func (h *host) usable() bool {
	select {
	case <-h.gone:
		return false
	default:
		return true
	}
}

// take passes a reply to its call, or an event to its server.
func (h *host) take(reply wire.Reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if answered := h.calls[reply.ID]; answered != nil {
		delete(h.calls, reply.ID)
		answered <- reply
		return
	}
	if s := h.servers[reply.Server]; s != nil {
		s.take(reply)
	}
}

// errStopped is the error of a call of a stopped server.
var errStopped = errors.New("the server has been stopped")

// call makes a request to the process and returns the reply. When the context ends, call sends a cancellation to the
// process, which then replies soon. When stopped is closed, call returns at once, because no goroutine reads replies
// any more.
func (h *host) call(ctx context.Context, stopped <-chan struct{}, r wire.Request) (wire.Reply, error) {
	answered := make(chan wire.Reply, 1)
	h.mu.Lock()
	h.last++
	r.ID = h.last
	h.calls[r.ID] = answered
	h.mu.Unlock()
	// A failed write means that the process has ended. The goroutine that reads the replies then ends all calls with
	// the reason.
	_ = h.writer.Write(r)
	defer context.AfterFunc(ctx, func() { _ = h.writer.Write(wire.Request{Cancel: r.ID}) })()
	select {
	case reply := <-answered:
		return reply, reply.Error.Err()
	case <-h.gone:
		return wire.Reply{}, h.failed
	case <-stopped:
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.calls, r.ID)
		return wire.Reply{}, errStopped
	}
}

// send returns the definitions of a start. It first sends the contents that the process has to store and doesn't have
// yet.
func (h *host) send(contents []*engine.Content) []wire.Definition {
	h.sending.Lock()
	defer h.sending.Unlock()
	definitions := make([]wire.Definition, len(contents))
	for i, content := range contents {
		if !content.Kept {
			definitions[i].JSON = content.JSON
			continue
		}
		number, sent := h.sent[content]
		if !sent {
			number = int64(len(h.sent) + 1)
			h.sent[content] = number
			// A failed write means that the process has ended. The goroutine that reads the replies then ends all calls
			// with the reason.
			_ = h.writer.Write(wire.Request{Content: &wire.Content{Number: number, JSON: content.JSON}})
		}
		definitions[i].Number = number
	}
	return definitions
}

// end ends the process, and returns when it has ended.
func (h *host) end() {
	_ = h.in.Close()
	if h.usable() {
		_ = h.command.Wait() // the exit code doesn't matter
	}
	h.close()
}

func (h *host) close() {
	for _, f := range []*os.File{h.in, h.out, h.errors} {
		_ = f.Close()
	}
}

// readErrorsOn copies the process's standard error to the standard error of the test process, until the method pause is
// called or the process ends.
func (h *host) readErrorsOn() {
	defer h.listening.Done()
	_, _ = io.Copy(io.MultiWriter(os.Stderr, &h.stderr), h.errors)
}

// readErrors copies the process's standard error to h.stderr, until a point in time or until the process ends.
func (h *host) readErrors(until time.Time) {
	_ = h.errors.SetReadDeadline(until)
	_, _ = io.Copy(&h.stderr, h.errors)
}

// tailSize is the number of bytes that are kept of the end of standard error. It is large enough for most panics with
// their stack traces.
const tailSize = 16 << 10

// tail keeps the last tailSize bytes that are written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(text), nil
}

// explain returns the kept bytes as the end of an error message, or "" if there are none.
func (t *tail) explain() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return "; its standard error:\n" + text
}
