package miniapitest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// logLines is the number of lines that are kept of a server's log. An error is at the end of the log.
const logLines = 100

// serverLog keeps the end of the log of one server, and of the fixture's own entries about the server.
type serverLog struct {
	mu    sync.Mutex
	lines []string
	// before is the number of lines that were dropped.
	before int
	// warnings are about options that don't do what they ask for.
	warnings []string
	// to gets the lines as they come. It is nil if the lines are only kept.
	to io.Writer
}

// note takes an entry of the fixture itself.
func (l *serverLog) note(format string, args ...any) {
	l.add("miniapitest: " + fmt.Sprintf(format, args...))
}

func (l *serverLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to != nil {
		_, _ = io.WriteString(l.to, line+"\n") // an error of the log has no other place to go
	}
	if len(l.lines) == logLines {
		l.lines = slices.Delete(l.lines, 0, 1)
		l.before++
	}
	l.lines = append(l.lines, line)
}

// warn takes a warning about the options. The log has it, too.
func (l *serverLog) warn(warning string) {
	l.add("Warning: " + warning)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, warning)
}

// warned returns the warnings.
func (l *serverLog) warned() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.warnings)
}

// explain adds the log to the error of a start.
func (l *serverLog) explain(err error) error {
	if text := l.String(); text != "" {
		return errors.Join(err, fmt.Errorf("the server's log:\n%s", text))
	}
	return err
}

// String returns the end of the log, or "".
func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(l.lines, "\n")
	if l.before > 0 {
		text = fmt.Sprintf("(%d lines before)\n%s", l.before, text)
	}
	return text
}

// unread returns the end of a log that is only kept, or "".
func (l *serverLog) unread() string {
	if l.to != nil {
		return ""
	}
	return l.String()
}
