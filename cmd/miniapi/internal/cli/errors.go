// Package cli has what miniapi's commands say to users on a command line: usage errors and exit codes, suggestions for
// flags and commands that are misspelled, and text that a shell can read. What a single command says stays in the
// command's own file.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes of the program.
const (
	ExitFailed = 1
	ExitUsage  = 2
)

// UsageError is an error in the command line: the program exits with ExitUsage.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Report prints an error on one line and returns the exit code.
func Report(err error, to io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(to, "Error:", oneLine(err))
	if errors.As(err, &UsageError{}) {
		return ExitUsage
	}
	return ExitFailed
}

// oneLine joins the lines of an error: scripts read one line per error.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "; ")
}
