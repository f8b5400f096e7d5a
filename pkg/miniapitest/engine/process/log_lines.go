package process

import "sync"

// lines passes log lines to a function, in order and in a goroutine of its own. So a slow function doesn't delay other
// servers.
type lines struct {
	mu     sync.Mutex
	queue  []string
	closed bool
	wake   chan struct{} // holds at most one signal
	done   chan struct{} // closed after the last line
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

// close makes the goroutine end after the lines that were added before.
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

// wait returns when the function has returned for the last line.
func (l *lines) wait() { <-l.done }
