package miniapitest

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// logLines is the number of lines that are kept of the end of a server's log.
const logLines = 100

// routine matches the entries of klog that don't help to find the cause of a failure: information, and a warning that
// k8s.io/apiserver logs at every start, about a version of CustomResourceDefinitions that isn't served any more.
var routine = regexp.MustCompile(`^I\d{4} |^W\d{4} .*\] Skipping API apiextensions\.k8s\.io/v1beta1 `)

// serverLog keeps the last warnings and errors of one server's log. The log includes the fixture's own entries about the
// server.
type serverLog struct {
	mu    sync.Mutex
	lines []string
	// routine is true while the lines of a routine entry come.
	routine bool
	// before is the number of lines that came before the kept lines and were dropped.
	before int
	// warnings are the warnings about options that don't have the expected effect.
	warnings []string
	// to is the writer of WithLog, which gets each line at once. Without WithLog, it is nil.
	to io.Writer
}

// note adds a line to the log. The line comes from the fixture itself, and not from the server.
func (l *serverLog) note(format string, args ...any) {
	l.add("miniapitest: " + fmt.Sprintf(format, args...))
}

func (l *serverLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to != nil {
		_, _ = io.WriteString(l.to, line+"\n") // if the log can't be written, there is no place to report it
	}
	if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, " ") { // the other lines continue an entry
		l.routine = routine.MatchString(line)
	}
	if l.routine {
		return
	}
	if len(l.lines) == logLines {
		l.lines = slices.Delete(l.lines, 0, 1)
		l.before++
	}
	l.lines = append(l.lines, line)
}

// warn adds a warning about an option to the warnings and to the log.
func (l *serverLog) warn(warning string) {
	l.add("Warning: " + warning)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warnings = append(l.warnings, warning)
}

// warned returns the warnings about options.
func (l *serverLog) warned() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.warnings)
}

// explain adds the kept lines to the error of a failed start.
func (l *serverLog) explain(err error) error {
	if text := l.String(); text != "" {
		return errors.Join(err, fmt.Errorf("the server's log:\n%s", text))
	}
	return err
}

// String returns the kept lines, or "" if there are none.
func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.Join(l.lines, "\n")
	if l.before > 0 {
		text = fmt.Sprintf("(%d lines before)\n%s", l.before, text)
	}
	return text
}

// unread returns the kept lines, or "" if WithLog has already shown the log.
func (l *serverLog) unread() string {
	if l.to != nil {
		return ""
	}
	return l.String()
}

// WithLog writes the server's log to a writer, line by line: for example to t.Output(), which "go test -v" shows, to
// GinkgoWriter, or to os.Stderr. Without the option, a failed test shows the last warnings and errors. The server may write
// lines until it has stopped. The log includes entries of other servers that log by klog at the same time.
func WithLog(to io.Writer) Option {
	return func(o *options) error {
		if isNil(to) {
			return errors.New("WithLog: the writer of the log is nil: without a writer, leave the option out")
		}
		o.logTo = to
		return nil
	}
}
