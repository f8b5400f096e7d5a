package trial

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
)

// Metrics is a Need: the client may read the server's metrics.
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

// Same tells whether the JSON of two values is equal.
func Same(a, b any) bool { return bytes.Equal(encoded(normal(a)), encoded(normal(b))) }

// Decoded returns the object of a JSON text, or nil if the text isn't a JSON object.
func Decoded(text string) Object { return decoded([]byte(text)) }
