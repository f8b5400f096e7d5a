package answers

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Line is a line of a log. Its text ends with the end of the line.
type Line struct {
	At   time.Time
	Text string
}

// Lines returns the lines of a text, all written at one time.
func Lines(text string, at time.Time) []Line {
	var lines []Line
	for line := range strings.Lines(text) {
		lines = append(lines, Line{at, strings.TrimSuffix(line, "\n") + "\n"})
	}
	return lines
}

// ReadLog reads a log file in the form of a container runtime (CRI) or of Docker. A line of another form is taken as it
// is, as written at a time.
func ReadLog(path string, at time.Time) ([]Line, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the log of a container: %w", err)
	}
	var lines []Line
	partial := false // the last line goes on
	for _, line := range Lines(string(text), at) {
		parsed, goes := parse(line)
		if partial {
			lines[len(lines)-1].Text += parsed.Text
		} else {
			lines = append(lines, parsed)
		}
		partial = goes
	}
	return lines, nil
}

// parse returns what a line of a log file says, and whether the next line of the file continues it.
func parse(line Line) (parsed Line, partial bool) {
	var docker struct {
		Log  *string
		Time time.Time
	}
	if strings.HasPrefix(line.Text, "{") && json.Unmarshal([]byte(line.Text), &docker) == nil && docker.Log != nil {
		return Line{docker.Time, *docker.Log}, !strings.HasSuffix(*docker.Log, "\n")
	}
	fields := strings.SplitN(line.Text, " ", 4) // the time, the stream, tags, and the text
	if len(fields) != 4 || fields[1] != "stdout" && fields[1] != "stderr" {
		return line, false
	}
	at, err := time.Parse(time.RFC3339Nano, fields[0])
	if err != nil {
		return line, false
	}
	if tag, _, _ := strings.Cut(fields[2], ":"); tag == "P" {
		return Line{at, strings.TrimSuffix(fields[3], "\n")}, true
	}
	return Line{at, fields[3]}, false
}
