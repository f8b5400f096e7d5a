package trial

import (
	"fmt"
	"slices"
)

// Need returns why a server lacks something that a case needs, or "".
type Need func(*Server) string

// Serves needs resources in discovery.
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

// Allows needs a verb of a resource in discovery.
func Allows(resource Resource, verb string) Need {
	return func(s *Server) string {
		if r, served := s.Find(resource); !served || !slices.Contains(r.Verbs, verb) {
			return fmt.Sprintf("the server doesn't serve %s of %s", verb, resource)
		}
		return ""
	}
}

// Since needs a version of Kubernetes, 1.minor or newer.
func Since(minor int) Need {
	return func(s *Server) string {
		if s.Major == 1 && s.Minor < minor {
			return fmt.Sprintf("the server is Kubernetes 1.%d, and the promise is of 1.%d", s.Minor, minor)
		}
		return ""
	}
}

// AuditLog needs the file of audit events.
func AuditLog(s *Server) string {
	if s.options.AuditLog == "" {
		return "no file of audit events is given (--audit-log)"
	}
	return ""
}

// Disposable needs a server that nothing else uses.
func Disposable(s *Server) string {
	if !s.options.Disposable {
		return "the case could harm other users of the server (--disposable-server)"
	}
	return ""
}
