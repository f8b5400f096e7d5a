package program

import (
	"os"
	"runtime"
)

// console is an io.Writer for messages to the person who waits for a download or a build. The messages go to the terminal of the
// process, because "go test ./..." shows the standard error of a test only when the test has ended. Without a terminal,
// they go to standard error.
type console struct{}

// terminal is the file of the terminal.
var terminal = map[bool]string{true: "CONOUT$", false: "/dev/tty"}[runtime.GOOS == "windows"]

func (console) Write(text []byte) (int, error) {
	opened, err := os.OpenFile(terminal, os.O_WRONLY, 0)
	if err != nil {
		return os.Stderr.Write(text)
	}
	defer opened.Close()
	return opened.Write(text)
}
