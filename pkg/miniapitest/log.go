package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// logLines is how much of a server's log is kept: the end, which says why.
const logLines = 100

// serverLog is what one server logs: by the context that it was given, and by klog, which all servers of the process
// share.
type serverLog struct {
	mu    sync.Mutex
	lines []string
	// before is how many lines came before those that are kept.
	before int
	// to is where the lines go when they come, nil if they are only kept.
	to io.Writer
}

// context gives the server its logger.
func (l *serverLog) context(ctx context.Context) context.Context {
	return klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(l))))
}

// Write takes one entry.
func (l *serverLog) Write(entry []byte) (int, error) {
	l.add(strings.TrimSuffix(string(entry), "\n"))
	return len(entry), nil
}

func (l *serverLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to != nil {
		_, _ = io.WriteString(l.to, line+"\n") // where nobody can be told
	}
	if len(l.lines) == logLines {
		l.lines = slices.Delete(l.lines, 0, 1)
		l.before++
	}
	l.lines = append(l.lines, line)
}

// explain adds the log to the error of a start.
func (l *serverLog) explain(err error) error {
	if text := l.String(); text != "" {
		return errors.Join(err, fmt.Errorf("the server's log:\n%s", text))
	}
	return err
}

// String is the end of the log, "" if there is none.
func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(l.lines, "\n")
	if l.before > 0 {
		text = fmt.Sprintf("(%d lines before)\n%s", l.before, text)
	}
	return text
}

// unread is the end of a log that went nowhere else.
func (l *serverLog) unread() string {
	if l.to != nil {
		return ""
	}
	return l.String()
}
