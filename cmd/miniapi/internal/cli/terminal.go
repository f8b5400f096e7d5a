package cli

import (
	"io"
	"os"

	"k8s.io/component-base/term"
)

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	_, _, err := term.TerminalSize(w)
	return err == nil
}

// Columns returns the width of the terminal in characters, or 0 without a terminal.
func Columns() int {
	width, _, _ := term.TerminalSize(os.Stdout)
	return width
}
