// Package wire has the messages between a test process and its miniapi process, and how they travel: one JSON object a
// line, requests to the standard input of the miniapi process and replies from its standard output. Only packages
// process and host, the two ends, use it.
package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// Protocol is the version of the messages. Both ends must have the same.
const Protocol = 3

// Request asks for one thing. The fields that are set say which.
type Request struct {
	// ID is in the reply. Only Cancel, Audited, Forget and Content have no reply.
	ID int64 `json:",omitempty"`
	// Server is a number that the test process chooses at Start.
	Server int64 `json:",omitempty"`

	Start *engine.Description `json:",omitempty"`
	// Definitions are for Start.
	Definitions []Definition `json:",omitempty"`

	User        *User        `json:",omitempty"`
	Certificate *Certificate `json:",omitempty"`
	Reach       *Reach       `json:",omitempty"`
	Snapshot    bool         `json:",omitempty"`
	Restore     int64        `json:",omitempty"` // a snapshot
	Stop        bool         `json:",omitempty"`

	Cancel  int64 `json:",omitempty"` // a request whose context has ended
	Audited int64 `json:",omitempty"` // an audit event that was taken
	Forget  int64 `json:",omitempty"` // a snapshot that nothing refers to any more
	// Content is kept for later requests, which name it by its number.
	Content *Content `json:",omitempty"`
}

// Definition is the number of a content, or the content itself.
type Definition struct {
	Number int64           `json:",omitempty"`
	JSON   json.RawMessage `json:",omitempty"`
}

// Content is an object in JSON.
type Content struct {
	Number int64
	JSON   json.RawMessage
}

// User requests a client certificate.
type User struct {
	Name   string
	Groups []string `json:",omitempty"`
}

// Certificate requests a serving certificate.
type Certificate struct{ Hosts, IPs []string }

// Reach requests an answer when the server has reached a webhook.
type Reach struct {
	Webhook engine.Webhook
	Timeout time.Duration
}

// Reply answers a request, or tells of an event. An event has no ID.
type Reply struct {
	ID    int64  `json:",omitempty"`
	Error *Error `json:",omitempty"`

	Info      *engine.Info `json:",omitempty"` // of Start
	Warnings  []string     `json:",omitempty"` // of Start, with or without an error
	Cert, Key []byte       `json:",omitempty"` // of User and Certificate
	Snapshot  int64        `json:",omitempty"`

	Hello  *Hello `json:",omitempty"` // the first event of a process
	Server int64  `json:",omitempty"` // the server of an event
	// Log is a line of the server's log.
	Log *string `json:",omitempty"`
	// CA is the certificate of the server's authority, before the server calls a webhook.
	CA []byte `json:",omitempty"`
	// Audit is an audit event. Audited answers with its number.
	Audit json.RawMessage `json:",omitempty"`
	Event int64           `json:",omitempty"`
	// Ended is the end of a server, with the error if there is one.
	Ended bool `json:",omitempty"`
}

// Hello is the first message of a miniapi process.
type Hello struct {
	Protocol int
	Version  string
}

// Error carries an error from one process to the other.
type Error struct {
	Text      string
	Untrusted bool `json:",omitempty"` // an engine.UntrustedError
}

// NewError returns the form of an error that travels, nil for nil.
func NewError(err error) *Error {
	if err == nil {
		return nil
	}
	untrusted := (*engine.UntrustedError)(nil)
	return &Error{err.Error(), errors.As(err, &untrusted)}
}

// Err returns the error that has travelled.
func (e *Error) Err() error {
	switch {
	case e == nil:
		return nil
	case e.Untrusted:
		return &engine.UntrustedError{Err: errors.New(e.Text)}
	}
	return errors.New(e.Text)
}

// Writer writes messages. Many goroutines may call it.
type Writer struct {
	mu sync.Mutex
	to io.Writer
}

// NewWriter returns a writer to an output.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes one message.
func (w *Writer) Write(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode %T: %w", message, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.to.Write(append(line, '\n'))
	return err
}

// Reader reads messages. A read that failed for lack of time may be repeated: it goes on within the message.
type Reader struct {
	from *bufio.Reader
	part []byte
}

// NewReader returns a reader of an input.
func NewReader(from io.Reader) *Reader { return &Reader{from: bufio.NewReader(from)} }

// Read reads one message.
func (r *Reader) Read(message any) error {
	line, err := r.from.ReadBytes('\n')
	r.part = append(r.part, line...)
	if err != nil {
		return err
	}
	line, r.part = r.part, nil
	if err := json.Unmarshal(line, message); err != nil {
		return fmt.Errorf("decoding the message %.200q: %w", bytes.TrimSpace(line), err)
	}
	return nil
}
