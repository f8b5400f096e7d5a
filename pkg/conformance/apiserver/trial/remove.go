package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ranks is the order in which objects are removed. Each function tells whether the object at the path belongs to its
// rank. Webhook configurations and policies are first, because they would affect the removal of other objects.
// Namespaces are last.
var ranks = []func(path string) bool{
	func(path string) bool { return strings.HasPrefix(path, "/apis/admissionregistration.k8s.io/") },
	func(path string) bool { return !isNamespace(path) },
	isNamespace,
}

func isNamespace(path string) bool {
	name, is := strings.CutPrefix(path, "/api/v1/namespaces/")
	return is && !strings.Contains(name, "/")
}

// removeAll removes the objects that the case has created, in the order of ranks, and within a rank the newest first.
// It also removes the handlers of the case's webhooks.
func (t *T) removeAll(ctx context.Context) error {
	t.mu.Lock()
	all := slices.Clone(t.created)
	paths := t.paths
	t.mu.Unlock()
	slices.Reverse(all)
	var errs []error
	for _, of := range ranks {
		for _, c := range all {
			if of(c.path) {
				errs = append(errs, t.Server.remove(ctx, c))
			}
		}
	}
	for _, path := range paths {
		path.Remove()
	}
	return errors.Join(errs...)
}

// remove deletes an object and removes its finalizers. It repeats the requests until the server accepts them or ctx
// ends, because a webhook may still refuse the requests for a moment after the removal of its configuration.
func (s *Server) remove(ctx context.Context, c created) error {
	options := Object{"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
	if c.uid != "" {
		options["preconditions"] = Object{"uid": c.uid}
	}
	last := "none"
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		a, err := s.do(ctx, Request{Verb: http.MethodDelete, Path: c.path, Body: options})
		if err != nil {
			return false, err
		}
		last = a.says()
		if a.Code == http.StatusNotFound || a.Code == http.StatusConflict {
			return true, nil // the object is deleted, or another object has the same name
		}
		if !a.Succeeded() {
			return false, nil
		}
		if len(a.Object.List("metadata.finalizers")) == 0 || strings.Contains(c.path, "/customresourcedefinitions/") {
			// Leave the finalizers of a definition: the server removes them itself when it has deleted the custom
			// resources.
			return true, nil
		}
		a, err = s.do(ctx, Request{Verb: http.MethodPatch, Path: c.path, Type: MergePatch, Body: Object{"metadata": Object{"finalizers": nil}}})
		if err != nil {
			return false, err
		}
		last = a.says()
		return a.Succeeded() || a.Code == http.StatusNotFound, nil
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w: the last answer: %s", c.path, err, last)
	}
	return nil
}
