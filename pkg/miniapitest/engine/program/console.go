package program

import "os"

// console is an io.Writer for messages to the person who waits for a download or a build. The messages go to the terminal of the
// process, because "go test ./..." shows the standard error of a test only when the test has ended. Without a terminal,
// they go to standard error.
type console struct{}

func (console) Write(text []byte) (int, error) {
	terminal, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return os.Stderr.Write(text)
	}
	defer terminal.Close()
	return terminal.Write(text)
}
