// Package containerlog keeps the output of a container that runs as a process, and serves it as a kubelet does. A line of
// the file has the format of the container runtimes: time, stream, "F", content.
package containerlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/condition"
)

// maxLine is the length at which a line without an end is written.
const maxLine = 16 << 10

// Log is the log of one run of a container.
type Log struct {
	path  string
	state condition.Variable[state]

	mu   sync.Mutex
	file *os.File
}

// state is what readers wait for.
type state struct {
	size   int64
	closed bool
}

// String implements fmt.Stringer, for errors.
func (s state) String() string { return fmt.Sprintf("%d bytes, closed: %t", s.size, s.closed) }

// Create creates the log in a file.
func Create(path string) (*Log, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &Log{path: path, file: file}, nil
}

// Close closes the log. Readers that follow it come to its end.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state.Update(func(s *state) { s.closed = true })
	return l.file.Close()
}

// Stream returns a writer for the output of a stream, which is stdout or stderr. Close writes the last line, if it has no
// end.
func (l *Log) Stream(name string) io.WriteCloser { return &stream{log: l, name: name} }

type stream struct {
	log  *Log
	name string
	rest []byte
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		end := bytes.IndexByte(s.rest, '\n')
		if end < 0 && len(s.rest) >= maxLine {
			end = maxLine - 1
			s.log.write(s.name, "P", s.rest[:end+1])
		} else if end >= 0 {
			s.log.write(s.name, "F", s.rest[:end])
		} else {
			return len(p), nil
		}
		s.rest = s.rest[end+1:]
	}
}

// Close implements io.Closer.
func (s *stream) Close() error {
	if len(s.rest) > 0 {
		s.log.write(s.name, "P", s.rest)
		s.rest = nil
	}
	return nil
}

func (l *Log) write(stream, tag string, content []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), stream, tag, content) // a full disk loses lines
	l.state.Update(func(s *state) { s.size += int64(n) })
}

// line is a line of a log.
type line struct {
	at      time.Time
	stream  string
	content string // with the end of the line, unless the line has none
}

// parse parses a line of the file.
func parse(text string) (line, error) {
	parts := strings.SplitN(strings.TrimSuffix(text, "\n"), " ", 4)
	if len(parts) < 4 {
		return line{}, fmt.Errorf("the line %q of the log is damaged", text)
	}
	at, err := time.Parse(time.RFC3339Nano, parts[0])
	if parts[2] == "F" {
		parts[3] += "\n"
	}
	return line{at, parts[1], parts[3]}, err
}

// Read writes what options select to w. With Follow, it ends when the log is closed, or with ctx.
func (l *Log) Read(ctx context.Context, w io.Writer, o *corev1.PodLogOptions) error {
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := reader{lines: bufio.NewReader(file), to: w, options: o, since: since(o), limit: -1}
	if o.LimitBytes != nil {
		r.limit = *o.LimitBytes
	}
	if err := r.skip(file); err != nil {
		return err
	}
	for {
		var seen state
		l.state.Read(func(s state) { seen = s })
		if err := r.copy(); err != nil || !o.Follow || seen.closed {
			return unlessDone(err)
		}
		if err := l.state.Wait(ctx, func(s state) bool { return s.closed || s.size > seen.size }); err != nil {
			return nil // the client has gone
		}
	}
}

// errDone says that the limit of bytes is reached.
var errDone = errors.New("limit of bytes")

func unlessDone(err error) error {
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

func since(o *corev1.PodLogOptions) time.Time {
	switch {
	case o.SinceTime != nil:
		return o.SinceTime.Time
	case o.SinceSeconds != nil:
		return time.Now().Add(-time.Duration(*o.SinceSeconds) * time.Second)
	}
	return time.Time{}
}

type reader struct {
	lines   *bufio.Reader
	to      io.Writer
	options *corev1.PodLogOptions
	since   time.Time
	limit   int64 // of bytes that are left; -1 without a limit
	part    string
}

// next returns the next selected line, or io.EOF.
func (r *reader) next() (line, error) {
	for {
		text, err := r.lines.ReadString('\n')
		r.part += text
		if err != nil {
			return line{}, err
		}
		parsed, err := parse(r.part)
		r.part = ""
		if err != nil {
			return line{}, err
		}
		wanted := r.options.Stream == nil || *r.options.Stream == corev1.LogStreamAll || strings.EqualFold(*r.options.Stream, parsed.stream)
		if wanted && !parsed.at.Before(r.since) {
			return parsed, nil
		}
	}
}

// skip skips the lines before the last ones that TailLines selects.
func (r *reader) skip(file *os.File) error {
	if r.options.TailLines == nil {
		return nil
	}
	var offsets []int64 // of the last lines
	var offset int64
	for {
		before := offset
		text, err := r.lines.ReadString('\n')
		if err != nil {
			break
		}
		offset += int64(len(text))
		offsets = append(offsets, before)
		if int64(len(offsets)) > *r.options.TailLines {
			offsets = offsets[1:]
		}
	}
	if len(offsets) > 0 {
		offset = offsets[0]
	}
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	r.lines.Reset(file)
	return nil
}

// copy copies the selected lines that the file has.
func (r *reader) copy() error {
	for {
		next, err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text := next.content
		if r.options.Timestamps {
			text = next.at.Format(time.RFC3339Nano) + " " + text
		}
		if r.limit >= 0 && int64(len(text)) > r.limit {
			text = text[:r.limit]
		}
		if _, err := io.WriteString(r.to, text); err != nil {
			return err
		}
		if r.limit >= 0 {
			if r.limit -= int64(len(text)); r.limit == 0 {
				return errDone
			}
		}
	}
}

// Tail returns the end of the log: at most a number of lines and of bytes.
func (l *Log) Tail(lines, limit int64) string {
	var b strings.Builder
	if err := l.Read(context.Background(), &b, &corev1.PodLogOptions{TailLines: &lines}); err != nil {
		return ""
	}
	text := b.String()
	return text[max(0, int64(len(text))-limit):]
}
