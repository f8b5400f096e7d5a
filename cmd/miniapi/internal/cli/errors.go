// Package cli has the parts of a command line that all commands of miniapi share: usage errors, exit codes, suggestions
// for misspelled flags and commands, quoting for shells, and the width of the terminal. Don't use it for the texts of a
// single command: these are in the command's own file.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit codes of the program after an error.
const (
	ExitFailed = 1
	ExitUsage  = 2
)

// UsageError is an error in the command line: the program exits with ExitUsage.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

func (e UsageError) Unwrap() error { return e.Err }

// Report prints an error on one line and returns the exit code. For nil, it prints nothing and returns 0.
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

// oneLine joins the lines of an error, because scripts expect one line for each error.
func oneLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "; ")
}
