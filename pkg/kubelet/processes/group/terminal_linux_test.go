package group

import (
	"bytes"
	"io"
	"os"
	"testing"
)

// A group with a terminal has its size, and gets its control characters as signals.
func TestTerminal(t *testing.T) {
	t.Parallel()
	g, _ := newGroups(t)
	in, typed := io.Pipe()
	t.Cleanup(func() { _ = in.Close() })
	var out bytes.Buffer
	shown := make(chan struct{})
	started, err := g.Start(Command{
		Args: []string{"sh", "-c", "trap 'stty size; exit 3' INT; echo ready; while :; do sleep 1; done"}, Env: []string{"PATH=" + os.Getenv("PATH")},
		Stdin: in, Stdout: io.MultiWriter(&out, &once{done: shown}), Terminal: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	<-shown
	if err := started.Resize(Size{Width: 132, Height: 43}); err != nil {
		t.Error(err)
	}
	if _, err := typed.Write([]byte{3}); err != nil { // ^C
		t.Error(err)
	}
	if code := started.Wait(); code != 3 {
		t.Errorf("want the code of the signal's handler, got %d", code)
	}
	if want := "ready\r\n^C43 132\r\n"; out.String() != want {
		t.Errorf("want %q, got %q", want, out.String())
	}
}

// once closes a channel at the first write.
type once struct{ done chan struct{} }

// Write implements io.Writer.
func (o *once) Write(p []byte) (int, error) {
	if o.done != nil {
		close(o.done)
		o.done = nil
	}
	return len(p), nil
}
