package trial

import (
	"fmt"
	"net/http"
	"slices"
)

// Need is a requirement of a case. It returns the reason if the server doesn't meet the requirement, and "" otherwise.
type Need func(*Server) string

// Serves is a Need: the server serves the resources.
func Serves(resources ...Resource) Need {
	return func(s *Server) string {
		for _, r := range resources {
			if _, served := s.Find(r); !served {
				return fmt.Sprintf("the server doesn't serve %s", r)
			}
		}
		return ""
	}
}

// Unserved is a Need: the server doesn't serve the resource.
func Unserved(r Resource) Need {
	return func(s *Server) string {
		if _, served := s.Find(r); served {
			return fmt.Sprintf("the server serves %s", r)
		}
		return ""
	}
}

// Allows is a Need: discovery lists the verb for the resource.
func Allows(resource Resource, verb string) Need {
	return func(s *Server) string {
		if r, served := s.Find(resource); !served || !slices.Contains(r.Verbs, verb) {
			return fmt.Sprintf("the server doesn't serve the verb %s of %s", verb, resource)
		}
		return ""
	}
}

// Since is a Need: the server's version of Kubernetes is at least 1.minor.
func Since(minor int) Need {
	return func(s *Server) string {
		if s.Major == 1 && s.Minor < minor {
			return fmt.Sprintf("the server is Kubernetes 1.%d, and the promise exists since 1.%d", s.Minor, minor)
		}
		return ""
	}
}

// AuditLog is a Need: the suite can read the server's audit log.
func AuditLog(s *Server) string {
	if s.options.AuditLog == "" {
		return "the case reads the server's audit log, and --audit-log names no file"
	}
	return ""
}

// Disposable is a Need: the server has no other users.
func Disposable(s *Server) string {
	if !s.options.Disposable {
		return "the case could harm other users of the server (--disposable-server)"
	}
	return ""
}

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
