package host

import (
	"context"
	"errors"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// unreadLines is the number of log lines that are kept for a client that may come and read them.
const unreadLines = 1000

// errRead is the error for a second reader of a server's events.
var errRead = errors.New("another request already follows the events of the server")

// events are the events of a server, until the client has read them. The zero value is ready for use.
type events struct {
	mu      sync.Mutex
	queue   []control.Event
	reading bool
	closed  bool
	// alone is true after the reader has gone, or if the server stops without one. Then no audit event waits.
	alone bool
	// changed is closed at the next change.
	changed chan struct{}
	// audits are the audit events that wait to be acknowledged, by number.
	audits map[int64]chan struct{}
	last   int64
}

// add appends an event. Without a reader, it drops the oldest line of the log if there are too many.
func (e *events) add(event control.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.append(event)
}

func (e *events) append(event control.Event) {
	if !e.reading && len(e.queue) >= unreadLines && e.queue[0].Log != nil {
		e.queue = e.queue[1:]
	}
	e.queue = append(e.queue, event)
	e.signal()
}

func (e *events) signal() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}

// audit appends an audit event, and returns when a client has acknowledged it, when the client that reads the events has
// gone, or when the server has ended.
func (e *events) audit(event []byte) {
	acknowledged := make(chan struct{})
	e.mu.Lock()
	if e.closed || e.alone {
		e.mu.Unlock()
		return
	}
	if e.audits == nil {
		e.audits = map[int64]chan struct{}{}
	}
	e.last++
	e.audits[e.last] = acknowledged
	e.append(control.Event{Audit: event, Number: e.last})
	e.mu.Unlock()
	<-acknowledged
}

// acknowledge ends the wait for an audit event.
func (e *events) acknowledge(number int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if waiting := e.audits[number]; waiting != nil {
		close(waiting)
		delete(e.audits, number)
	}
}

// abandon ends the wait for audit events that nobody reads.
func (e *events) abandon() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.reading {
		e.release()
	}
}

// release ends the wait for all audit events, until there is a new reader. The caller must hold the lock.
func (e *events) release() {
	e.alone = true
	for number, waiting := range e.audits {
		close(waiting)
		delete(e.audits, number)
	}
}

// close appends the last event.
func (e *events) close(last control.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.append(last)
	e.closed = true
	e.release()
}

// begin makes the caller the reader. It must call the result at the end.
func (e *events) begin() (end func(), _ error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reading {
		return nil, errRead
	}
	e.reading, e.alone = true, false
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.reading = false
		e.release()
	}, nil
}

// take returns the events that nobody has read, and whether more may come. If there are none yet and follow is true, it
// waits for one.
func (e *events) take(ctx context.Context, follow bool) (taken []control.Event, more bool) {
	for {
		e.mu.Lock()
		taken, e.queue = e.queue, nil
		closed := e.closed
		if len(taken) > 0 || closed || !follow {
			e.mu.Unlock()
			return taken, follow && !closed
		}
		if e.changed == nil {
			e.changed = make(chan struct{})
		}
		changed := e.changed
		e.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false
		}
	}
}
