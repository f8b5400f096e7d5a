package process

import "sync"

// lines passes on log lines in order, in a goroutine of its own: a slow log doesn't delay other servers.
type lines struct {
	mu     sync.Mutex
	queue  []string
	closed bool
	wake   chan struct{} // has a place for one signal
	done   chan struct{} // closed when the last line is passed on
}

func newLines(to func(line string)) *lines {
	l := &lines{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.pass(to)
	return l
}

func (l *lines) pass(to func(line string)) {
	defer close(l.done)
	for range l.wake {
		l.mu.Lock()
		queue, closed := l.queue, l.closed
		l.queue = nil
		l.mu.Unlock()
		for _, line := range queue {
			to(line)
		}
		if closed {
			return
		}
	}
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, line)
	l.signal()
}

// close makes the goroutine end after the lines so far.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.signal()
}

func (l *lines) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// wait waits until the last line is passed on.
func (l *lines) wait() { <-l.done }
