// Package wire has the messages between a test process and a miniapi process. Each message is a JSON object on one
// line. Requests go to the standard input of the miniapi process, and replies come from its standard output. Don't use
// the package outside of packages process and host, which are the two ends.
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

// Protocol is the version of the messages. Both ends must have the same version.
const Protocol = 4

// Request is a message to the miniapi process. Only the fields of one kind of request are set.
type Request struct {
	// ID is the number of the request. The reply has the same number. Cancel, Audited, Forget and Content have no
	// reply.
	ID int64 `json:",omitempty"`
	// Server is the number of a server. The test process chooses it in the request Start.
	Server int64 `json:",omitempty"`

	Start *engine.Description `json:",omitempty"`
	// Definitions are the custom resource definitions of Start. They are a field of their own, because the JSON of a
	// Description doesn't have them.
	Definitions []Definition `json:",omitempty"`

	User        *User        `json:",omitempty"`
	Certificate *Certificate `json:",omitempty"`
	Reach       *Reach       `json:",omitempty"`
	// Keep makes the server keep these objects for later servers.
	Keep     []engine.Installed `json:",omitempty"`
	Snapshot bool               `json:",omitempty"`
	Restore  int64              `json:",omitempty"` // the number of a snapshot
	Stop     bool               `json:",omitempty"`

	Cancel  int64 `json:",omitempty"` // the number of a request whose context has ended
	Audited int64 `json:",omitempty"` // the number of an audit event that the test process has handled
	Forget  int64 `json:",omitempty"` // the number of a snapshot that the test process doesn't need any more
	// Content is an object. The miniapi process keeps the object, and later requests refer to it by its number.
	Content *Content `json:",omitempty"`
}

// Definition is the number of a stored Content, or an object itself.
type Definition struct {
	Number int64           `json:",omitempty"`
	JSON   json.RawMessage `json:",omitempty"`
}

// Content is an object in JSON.
type Content struct {
	Number int64
	JSON   json.RawMessage
}

// User is a request for a client certificate.
type User struct {
	Name   string
	Groups []string `json:",omitempty"`
}

// Certificate is a request for a serving certificate.
type Certificate struct{ Hosts, IPs []string }

// Reach is a request to wait until the server reaches a webhook. The reply comes when the server has reached the
// webhook, or when the attempt has failed.
type Reach struct {
	Webhook engine.Webhook
	Timeout time.Duration
}

// Reply is a message from the miniapi process: the answer to a request, or an event. An event has no ID.
type Reply struct {
	ID    int64  `json:",omitempty"`
	Error *Error `json:",omitempty"`

	Info      *engine.Info `json:",omitempty"` // the answer to Start
	Warnings  []string     `json:",omitempty"` // the answer to Start, even if it has failed
	Cert, Key []byte       `json:",omitempty"` // the answer to User or Certificate
	Snapshot  int64        `json:",omitempty"`

	Hello  *Hello `json:",omitempty"` // the first event of a process
	Server int64  `json:",omitempty"` // the number of the server of an event
	// Log is a line of the server's log.
	Log *string `json:",omitempty"`
	// CA is the certificate of the server's authority. The reply with it is an event, which comes before the server calls
	// a webhook.
	CA []byte `json:",omitempty"`
	// Audit is an audit event, and Event is its number. The test process must answer with Audited.
	Audit json.RawMessage `json:",omitempty"`
	Event int64           `json:",omitempty"`
	// Ended is an event: the server has ended. Error has the reason, if there is one.
	Ended bool `json:",omitempty"`
}

// Hello is the first message of a miniapi process. It has the version of the protocol.
type Hello struct {
	Protocol int
	Version  string
}

// Error is the form in which an error is sent to the other process.
type Error struct {
	Text      string
	Untrusted bool `json:",omitempty"` // whether the error is an engine.UntrustedError
}

// NewError converts an error into the form in which the process sends it. It returns nil for nil.
func NewError(err error) *Error {
	if err == nil {
		return nil
	}
	untrusted := (*engine.UntrustedError)(nil)
	return &Error{err.Error(), errors.As(err, &untrusted)}
}

// Err returns a received error as a Go error. It returns nil for nil.
func (e *Error) Err() error {
	switch {
	case e == nil:
		return nil
	case e.Untrusted:
		return &engine.UntrustedError{Err: errors.New(e.Text)}
	}
	return errors.New(e.Text)
}

// Writer writes messages. Several goroutines may use it at the same time.
type Writer struct {
	mu sync.Mutex
	to io.Writer
}

// NewWriter returns a Writer that writes messages to an output, one JSON object a line.
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

// Reader reads messages. After a read that failed at its deadline, the next read continues within the same message.
type Reader struct {
	from *bufio.Reader
	part []byte
}

// NewReader returns a Reader that reads messages from an input.
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
