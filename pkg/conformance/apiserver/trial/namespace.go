package trial

import (
	"context"
	"fmt"
	"net/http"
)

// MakeNamespace creates a namespace of the run, and returns its name, which ends in the argument. Close removes the
// namespace with all of its objects.
func (s *Server) MakeNamespace(ctx context.Context, ending string) (string, error) {
	name := Prefix + s.run + "-" + ending
	s.filled = append(s.filled, name)
	namespace := Object{"apiVersion": "v1", "kind": "Namespace", "metadata": Object{"name": name, "labels": Object{LabelRun: s.run}}}
	answer, err := s.do(ctx, Request{Verb: http.MethodPost, Path: Namespaces.path("", ""), Body: namespace})
	if err == nil && !answer.Succeeded() {
		err = fmt.Errorf("the answer is %s", answer.says())
	}
	if err != nil {
		return "", fmt.Errorf("create namespace %s: %w", name, err)
	}
	return name, nil
}
