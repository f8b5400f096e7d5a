package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// sweepTimeout limits a sweep.
const sweepTimeout = 5 * time.Minute

// Close removes the objects that the run has left, and stops the listener. It works even if the context has ended.
func (s *Server) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTimeout)
	defer cancel()
	_, err := s.sweep(ctx, LabelRun+"="+s.run, func(namespace string) bool {
		return namespace == s.clusterNamespace() || slices.Contains(s.filled, namespace)
	})
	return errors.Join(err, s.stopListening())
}

// Cleanup removes all objects of earlier runs that were killed, and returns their paths. It recognizes them by the
// label of any run, so it also removes the objects of runs in progress.
func (s *Server) Cleanup(ctx context.Context) ([]string, error) {
	return s.sweep(ctx, LabelRun, func(string) bool { return true })
}

// sweep removes the cluster-scoped objects that a selector matches, the namespaces last, and returns their paths. It
// also removes the objects in a namespace if the function full returns true for the namespace. full returns false if
// a case has already removed these objects. Only a killed run leaves objects in the namespaces of its cases.
func (s *Server) sweep(ctx context.Context, selector string, full func(namespace string) bool) ([]string, error) {
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
			errs = append(errs, s.remove(ctx, c))
			if namespace := path.Base(c.path); isNamespace(c.path) && full(namespace) {
				errs = append(errs, s.empty(ctx, namespace)) // a deleted namespace gets no new objects
			}
		}
	}
	return paths, errors.Join(append(errs, s.finishNamespaces(ctx, selector))...)
}

// ours tells whether an object has the label of the selector. The server's selection isn't reliable, because a server
// that the suite checks may ignore selectors.
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

// finishNamespaces waits until the namespaces that a selector matches are gone. The caller has deleted the namespaces
// and their objects. If no controller removes the finalizers of the namespaces in time, finishNamespaces removes these
// finalizers. It doesn't change a namespace with pods, because pods stay until their nodes have stopped them.
func (s *Server) finishNamespaces(ctx context.Context, selector string) error {
	namespaces := Request{Verb: http.MethodGet, Path: "/api/v1/namespaces", Query: []string{"labelSelector=" + selector}}
	patience := cmp.Or(s.options.Patience, DefaultPatience)
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
			if pods, err := s.do(ctx, Request{Verb: http.MethodGet, Path: Pods.path(o.Name(), "")}); err != nil || len(pods.Object.List("items")) > 0 {
				continue
			}
			at := "/api/v1/namespaces/" + url.PathEscape(o.Name()) + "/finalize"
			if _, err := s.do(ctx, Request{Verb: http.MethodPut, Path: at, Body: o.With("spec.finalizers", []any{})}); err != nil {
				return false, fmt.Errorf("finalize namespace %s: %w", o.Name(), err)
			}
		}
		return false, nil
	})
}
