package cli

import (
	"os"

	"k8s.io/component-base/term"
)

// Columns returns the width of the terminal in characters, or 0 without a terminal.
func Columns() int {
	width, _, _ := term.TerminalSize(os.Stdout)
	return width
}
