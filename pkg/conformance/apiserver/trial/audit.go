package trial

import (
	"bufio"
	"bytes"
	"os"
	"time"
)

// auditTimeout limits the time until an event is in the file of the audit log.
const auditTimeout = 10 * time.Second

// AuditEvent returns the audit event of the request with this answer.
func (t *T) AuditEvent(a *Answer) Object {
	file, err := os.Open(t.Server.options.AuditLog)
	if err != nil {
		t.fatal("the audit log can be read", err)
	}
	defer file.Close()
	id := a.Header.Get("Audit-Id")
	lines := bufio.NewReader(file)
	var line []byte
	var found Object
	t.Eventually("the audit log has the event "+id, auditTimeout, func() string {
		for {
			part, err := lines.ReadBytes('\n')
			line = append(line, part...)
			if err != nil {
				return "it has no such event" // the rest, if any, is a line that the server is still writing
			}
			event := line
			line = nil
			if !bytes.Contains(event, []byte(id)) {
				continue
			}
			if found = decoded(event); found["auditID"] == id && found["stage"] == "ResponseComplete" {
				return ""
			}
		}
	})
	return found
}
