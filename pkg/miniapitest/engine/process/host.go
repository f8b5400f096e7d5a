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
	users   int // the servers, under the engine's mu
	command *exec.Cmd
	in      *os.File
	out     *os.File
	errors  *os.File
	writer  *wire.Writer
	reader  *wire.Reader
	// listening are the goroutines that read.
	listening sync.WaitGroup

	mu      sync.Mutex
	last    int64 // the number of the last call
	calls   map[int64]chan wire.Reply
	servers map[int64]*server
	paused  bool
	// sent are the contents that the process has, with their numbers. sending is held while one is sent.
	sending sync.Mutex
	sent    map[*engine.Content]int64
	// failed is the reason for which the process can't be used any more, after gone is closed.
	failed error
	gone   chan struct{}
	stderr tail
}

// startHost starts the program. Its first reply is read before it is used.
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
		_ = f.Close() // nil has an error, too
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

// greeting bounds the time until the program has said which protocol it speaks.
const greeting = 30 * time.Second

// greet reads the first reply.
func (h *host) greet(ctx context.Context, program string) error {
	var first wire.Reply
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = h.out.SetReadDeadline(time.Now()) })() // without deadlines, it waits
	err := h.reader.Read(&first)
	switch {
	case err == nil && first.Hello != nil && first.Hello.Protocol == wire.Protocol:
		return nil
	case err == nil && first.Hello != nil:
		return fmt.Errorf("%s is miniapi %s, which speaks protocol %d with tests, and this fixture speaks %d: use a program of the fixture's own version, or leave $MINIAPI unset",
			program, first.Hello.Version, first.Hello.Protocol, wire.Protocol)
	}
	_ = h.in.Close()
	h.readErrors(time.Now().Add(time.Second))
	_ = h.command.Process.Kill() // another program may go on without input
	return fmt.Errorf("%s doesn't serve tests: is it a miniapi of this fixture's version? %w%s", program, err, h.stderr.explain())
}

func (h *host) pid() int { return h.command.Process.Pid }

// listen begins to read replies.
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

// pause ends the reading, when no server is left that could say anything.
func (h *host) pause() {
	h.mu.Lock()
	h.paused = true
	h.mu.Unlock()
	_ = h.out.SetReadDeadline(time.Now())
	_ = h.errors.SetReadDeadline(time.Now())
	h.listening.Wait()
}

// stopReading is called when a read has failed: because of pause, or because the process has ended.
func (h *host) stopReading(err error) {
	h.mu.Lock()
	paused := h.paused
	h.mu.Unlock()
	if paused && errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	_ = h.in.Close() // a process that still runs ends
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

// usable reports whether the process may be running.
func (h *host) usable() bool {
	select {
	case <-h.gone:
		return false
	default:
		return true
	}
}

// take passes a reply on.
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

// errStopped is the error of calls of a server that has been stopped.
var errStopped = errors.New("the server has been stopped")

// call makes a request and returns the reply. When the context ends, call cancels the request in the process, and
// the reply comes soon. When stopped is closed, nothing listens for the reply any more.
func (h *host) call(ctx context.Context, stopped <-chan struct{}, r wire.Request) (wire.Reply, error) {
	answered := make(chan wire.Reply, 1)
	h.mu.Lock()
	h.last++
	r.ID = h.last
	h.calls[r.ID] = answered
	h.mu.Unlock()
	// After an error, the process is gone, and the reader knows why.
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

// send returns the definitions of a start. It sends the contents that the process keeps and doesn't have yet.
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
			// After an error, the process is gone, and the reader knows why.
			_ = h.writer.Write(wire.Request{Content: &wire.Content{Number: number, JSON: content.JSON}})
		}
		definitions[i].Number = number
	}
	return definitions
}

// end ends the process, and waits for its end.
func (h *host) end() {
	_ = h.in.Close()
	if h.usable() {
		_ = h.command.Wait() // it was asked to end
	}
	h.close()
}

func (h *host) close() {
	for _, f := range []*os.File{h.in, h.out, h.errors} {
		_ = f.Close()
	}
}

// readErrorsOn reads standard error until pause, or the end of the process. What the program writes there goes to
// standard error.
func (h *host) readErrorsOn() {
	defer h.listening.Done()
	_, _ = io.Copy(io.MultiWriter(os.Stderr, &h.stderr), h.errors)
}

// readErrors reads what there is until a time.
func (h *host) readErrors(until time.Time) {
	_ = h.errors.SetReadDeadline(until)
	_, _ = io.Copy(&h.stderr, h.errors)
}

// tailSize is the number of bytes that are kept of the end of standard error. A panic begins with its reason, and its trace
// is rarely longer.
const tailSize = 16 << 10

// tail keeps the last tailSize bytes of a stream.
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

// explain returns the text for the end of an error, or "".
func (t *tail) explain() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return "; its standard error:\n" + text
}
