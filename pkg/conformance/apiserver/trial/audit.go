package trial

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
)

// Metrics needs to read the server's metrics.
func Metrics(s *Server) string {
	s.metrics.Do(func() {
		a, err := s.do(s.context, Request{Verb: http.MethodGet, Path: "/metrics", Header: http.Header{"Accept": {"text/plain"}}})
		switch {
		case err != nil:
			s.noMetrics = err.Error()
		case !a.Succeeded():
			s.noMetrics = "reading /metrics: " + a.says()
		}
	})
	return s.noMetrics
}

// AuditEvents returns the events of the log that are about the case's namespace so far.
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
			return events // a line without its end is being written
		}
		if bytes.Contains(line, []byte(t.name)) {
			if event := decoded(line); event.Text("objectRef.namespace") == t.name {
				events = append(events, event)
			}
		}
	}
}

// Same compares values as JSON.
func Same(a, b any) bool { return bytes.Equal(encoded(normal(a)), encoded(normal(b))) }

// Decoded returns the object of a JSON text, or nil if the text is none.
func Decoded(text string) Object { return decoded([]byte(text)) }
