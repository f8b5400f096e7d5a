package logging

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
)

// People is a writer for the log that writes the entries of klog for a reader at a terminal: the time, the severity and
// the message, without the day, the process and the line of the source.
type People struct{ To io.Writer }

// entry matches an entry of klog: the severity, the time and the text. A structured text begins with a message in quotes.
var entry = regexp.MustCompile(`(?s)^([IWEF])\d{4} (\d\d:\d\d:\d\d)\.\d+ +\d+ [^\]]*\] (.*)$`)

var severities = map[string]string{"I": "info", "W": "warning", "E": "error", "F": "fatal"}

// Write handles one entry of the log. It passes on a text that isn't an entry of klog.
func (p People) Write(text []byte) (int, error) {
	parts := entry.FindSubmatch(text)
	if parts == nil {
		return p.To.Write(text)
	}
	message := bytes.TrimRight(parts[3], "\n")
	if quoted, err := strconv.QuotedPrefix(string(message)); err == nil {
		if plain, err := strconv.Unquote(quoted); err == nil {
			message = append([]byte(plain), message[len(quoted):]...)
		}
	}
	if _, err := fmt.Fprintf(p.To, "%s %s: %s\n", parts[2], severities[string(parts[1])], message); err != nil {
		return 0, err
	}
	return len(text), nil
}
