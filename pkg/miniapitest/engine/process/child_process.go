package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
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
	client  *control.Client
	// listening counts the goroutines that read from the process.
	listening sync.WaitGroup

	mu      sync.Mutex
	servers map[*server]bool
	paused  bool
	// sending is locked while an object is sent, and sent has the objects that the process keeps.
	sending sync.Mutex
	sent    map[*engine.Content]bool
	// failed is the reason why the process can't be used. It has its value when gone is closed.
	failed error
	gone   chan struct{}
	stderr tail
}

// startHost starts the program, and waits for its first line.
func startHost(ctx context.Context, program, key string, usual bool) (_ *host, err error) {
	h := &host{
		key: key, usual: usual, command: exec.Command(program, "host"),
		servers: map[*server]bool{}, sent: map[*engine.Content]bool{}, gone: make(chan struct{}),
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
	if err := h.greet(ctx, program); err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// greeting limits the time until the program has written its first line.
const greeting = 30 * time.Second

// greet reads the first line, which has the version of the protocol, and the address and token for requests.
func (h *host) greet(ctx context.Context, program string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, greeting, fmt.Errorf("no line within %s", greeting))
	defer cancel()
	// The end of ctx interrupts the read. If the pipe doesn't support deadlines, the read continues until the program
	// writes or ends.
	defer context.AfterFunc(ctx, func() { _ = h.out.SetReadDeadline(time.Now()) })()
	var hello control.Hello
	line, err := bufio.NewReader(h.out).ReadBytes('\n')
	if err == nil && json.Unmarshal(line, &hello) != nil {
		err = fmt.Errorf("the first line is %.200q", bytes.TrimSpace(line))
	}
	switch {
	case err == nil && hello.Protocol == control.Version:
		h.client, err = control.NewClient(hello)
		return err
	case err == nil && hello.Protocol != "":
		return fmt.Errorf("%s is miniapi %s with version %s of the control protocol, and this fixture needs version %s: use a program of the fixture's own version, or leave $MINIAPI unset",
			program, hello.Version, hello.Protocol, control.Version)
	case err == nil:
		err = errors.New("the first line lacks the version of the control protocol")
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
		_, err := io.Copy(io.Discard, h.out) // after its first line, the process writes nothing; the end is that of the process
		h.stopReading(err)
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
	if h.client != nil {
		h.client.CloseIdleConnections()
	}
}

// stopReading is called after the last read. A read ends after a call of pause. It also ends if the process has ended:
// then all servers of the process end with an error.
func (h *host) stopReading(err error) {
	h.mu.Lock()
	paused := h.paused
	h.mu.Unlock()
	if paused && errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	_ = h.in.Close()
	h.readErrors(time.Now().Add(time.Second))
	waited := h.command.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = fmt.Errorf("the miniapi process %d has ended", h.pid())
	if waited != nil {
		h.failed = fmt.Errorf("%w: %w", h.failed, waited)
	}
	h.failed = fmt.Errorf("%w%s", h.failed, h.stderr.explain())
	close(h.gone)
	for s := range h.servers {
		s.end(h.failed)
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

// errStopped is the error of a call of a stopped server.
var errStopped = errors.New("the server has been stopped")

// ending limits the time between a request that fails because the process has ended, and the end of its output.
const ending = 5 * time.Second

// call makes a request to the process, and decodes the answer into the argument response unless it is nil. When stopped
// is closed, call returns at once.
func (h *host) call(ctx context.Context, stopped <-chan struct{}, method, path string, request, response any) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if stopped != nil {
		done := make(chan struct{})
		defer close(done)
		go func() {
			select {
			case <-stopped:
				cancel(errStopped)
			case <-done:
			}
		}()
	}
	err := h.client.Do(ctx, method, path, request, response)
	return h.explain(ctx, err)
}

// explain returns the reason of a failed request: the end of the process, the end of the context, or the answer.
func (h *host) explain(ctx context.Context, err error) error {
	broken := (*url.Error)(nil)
	if !errors.As(err, &broken) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-h.gone:
		return h.failed
	case <-time.After(ending):
		return err
	}
}

// send returns the definitions of a start. It first sends the objects that later starts need too, and that the process
// doesn't have yet.
func (h *host) send(ctx context.Context, contents []*engine.Content) ([]control.Definition, error) {
	h.sending.Lock()
	defer h.sending.Unlock()
	definitions := make([]control.Definition, len(contents))
	for i, content := range contents {
		if !content.Kept {
			definitions[i].Object = content.JSON
			continue
		}
		sum := content.Sum()
		definitions[i].SHA256 = hex.EncodeToString(sum[:])
		if h.sent[content] {
			continue
		}
		if err := h.call(ctx, nil, http.MethodPut, "/v1/objects/"+definitions[i].SHA256, json.RawMessage(content.JSON), nil); err != nil {
			return nil, err
		}
		h.sent[content] = true
	}
	return definitions, nil
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
