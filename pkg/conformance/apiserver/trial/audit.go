package trial

import (
	"bufio"
	"bytes"
	"os"
)

// AuditEvents returns the events in the audit log so far that are about the case's namespace.
func (t *T) AuditEvents() []Object {
	file, err := os.Open(t.Server.options.AuditLog)
	if err != nil {
		t.fatal("the audit log can be read", err)
	}
	defer file.Close()
	var events []Object
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return events // the rest, if any, is a line that the server is still writing
		}
		if bytes.Contains(line, []byte(t.name)) {
			if event := decoded(line); event.Text("objectRef.namespace") == t.name {
				events = append(events, event)
			}
		}
	}
}
