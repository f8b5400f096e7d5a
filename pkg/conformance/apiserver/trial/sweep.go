package trial

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// patience is how long a sweep waits for the server's controllers to finish one more namespace, before it finishes
	// the empty namespaces itself: a server may have no such controllers.
	patience = 3 * time.Second
	// sweepTimeout bounds a sweep.
	sweepTimeout = 2 * time.Minute
)

// Close removes what the run may have left, and stops listening. The context may have ended.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTimeout)
	defer cancel()
	_, err := s.sweep(ctx, LabelRun+"="+s.run, false)
	return errors.Join(err, s.hooks.Close())
}

// Cleanup removes what runs that were killed have left: all objects with the label of any run. It returns their paths.
// It also ends runs that are going on.
func Cleanup(ctx context.Context, o Options) ([]string, error) {
	s, err := reach(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.sweep(ctx, LabelRun, true)
}

// sweep removes the objects of cluster scope that a selector matches, the namespaces last. Thorough, it empties these
// first: the cases of a run that wasn't killed have emptied theirs.
func (s *Server) sweep(ctx context.Context, selector string, thorough bool) ([]string, error) {
	var found []created
	var errs []error
	swept := map[string]bool{}
	for _, r := range s.Resources {
		if r.Namespaced || r.Subresource != "" || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") || swept[r.Name] {
			continue
		}
		swept[r.Name] = true
		list, err := s.do(ctx, Request{Verb: http.MethodGet, Path: r.path("", ""), Query: []string{"labelSelector=" + selector}})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", r, err)
		}
		for _, o := range list.Object.Objects("items") {
			if ours(o, selector) {
				found = append(found, created{path: r.path("", o.Name()), uid: o.Text("metadata.uid")})
			}
		}
	}
	var paths []string
	for _, of := range ranks {
		for _, c := range found {
			if !of(c.path) {
				continue
			}
			paths = append(paths, c.path)
			if isNamespace(c.path) && thorough {
				errs = append(errs, s.empty(ctx, c.path[len("/api/v1/namespaces/"):]))
			}
			errs = append(errs, s.remove(ctx, c))
		}
	}
	return paths, errors.Join(append(errs, s.finishNamespaces(ctx, selector))...)
}

// ours tells whether an object is one of a run's that a selector names. A server under judgement may ignore the selectors
// of lists, so they prove nothing.
func ours(o Object, selector string) bool {
	key, run, one := strings.Cut(selector, "=")
	value, has := o.Label(key).(string)
	return has && (!one || value == run)
}

// empty removes every object of a namespace.
func (s *Server) empty(ctx context.Context, namespace string) error {
	var errs []error
	for _, r := range s.Resources {
		if !r.Namespaced || r.Subresource != "" || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") {
			continue
		}
		list, err := s.do(ctx, Request{Verb: http.MethodGet, Path: r.path(namespace, "")})
		if err != nil {
			return fmt.Errorf("list %s of namespace %s: %w", r, namespace, err)
		}
		for _, o := range list.Object.Objects("items") {
			errs = append(errs, s.remove(ctx, created{path: r.path(namespace, o.Name())}))
		}
	}
	return errors.Join(errs...)
}

// finishNamespaces waits until the namespaces that a selector matches are gone. They are empty, so it finishes them if
// no controller does.
func (s *Server) finishNamespaces(ctx context.Context, selector string) error {
	namespaces := Request{Verb: http.MethodGet, Path: "/api/v1/namespaces", Query: []string{"labelSelector=" + selector}}
	fewest, progress := -1, time.Now()
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		list, err := s.do(ctx, namespaces)
		if err != nil {
			return false, fmt.Errorf("list namespaces: %w", err)
		}
		left := slices.DeleteFunc(list.Object.Objects("items"), func(o Object) bool { return !ours(o, selector) })
		if len(left) == 0 {
			return true, nil
		}
		if fewest < 0 || len(left) < fewest {
			fewest, progress = len(left), time.Now()
		}
		if time.Since(progress) < patience {
			return false, nil
		}
		for _, o := range left {
			path := "/api/v1/namespaces/" + url.PathEscape(o.Name()) + "/finalize"
			if _, err := s.do(ctx, Request{Verb: http.MethodPut, Path: path, Body: o.With("spec.finalizers", []any{})}); err != nil {
				return false, fmt.Errorf("finalize namespace %s: %w", o.Name(), err)
			}
		}
		return false, nil
	})
}
