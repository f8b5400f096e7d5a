// Package served lists the resources that a server serves. It requests discovery once, and again after an error or
// a change of the served resources.
//
// If a program needs the list only once, use client-go's discovery client.
package served

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Resource is a resource, in the preferred version of its group.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	Verbs      []string
}

// Can reports whether the resource supports all of the verbs.
func (r Resource) Can(verbs ...string) bool {
	return !slices.ContainsFunc(verbs, func(verb string) bool { return !slices.Contains(r.Verbs, verb) })
}

// Resources lists the resources that a server serves, and caches the list.
type Resources struct {
	discovery discovery.ServerResourcesInterface
	mapper    meta.RESTMapper

	mu      sync.Mutex
	changes int
	known   []Resource // the last list; nil if List must request discovery again
	told    []func()
}

// New returns the resources that discovery lists. When the served resources change, the caller must update the
// mapper before it calls Changed.
func New(discovery discovery.ServerResourcesInterface, mapper meta.RESTMapper) *Resources {
	return &Resources{discovery: discovery, mapper: mapper}
}

// OnChange makes each call of Changed call f.
func (r *Resources) OnChange(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, f)
}

// Changed must be called when the served resources have changed.
func (r *Resources) Changed() {
	r.mu.Lock()
	r.changes++
	r.known = nil
	told := r.told
	r.mu.Unlock()
	for _, f := range told {
		f()
	}
}

// Changes returns the number of calls of Changed.
func (r *Resources) Changes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes
}

// List returns the resources, in their preferred versions. If discovery fails for some groups, List returns an
// error together with the resources of the other groups. The next call then requests discovery again.
func (r *Resources) List() ([]Resource, error) {
	r.mu.Lock()
	known, changes := r.known, r.changes
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	lists, err := r.discovery.ServerPreferredResources()
	resources, invalid := parse(lists)
	if err = join(err, invalid); err != nil {
		return resources, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == changes {
		r.known = resources
	}
	return resources, nil
}

// join joins errors. It returns a single error unchanged.
func join(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// InvalidVersionError is an error in the answer of discovery: a group version that can't be parsed.
type InvalidVersionError struct{ Err error }

// Error implements error.
func (e *InvalidVersionError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *InvalidVersionError) Unwrap() error { return e.Err }

func parse(lists []*metav1.APIResourceList) (resources []Resource, err error) {
	for _, list := range lists {
		gv, invalid := schema.ParseGroupVersion(list.GroupVersion)
		if invalid != nil {
			err = errors.Join(err, &InvalidVersionError{invalid})
			continue
		}
		for _, r := range list.APIResources {
			resources = append(resources, Resource{gv.WithResource(r.Name), r.Kind, r.Namespaced, r.Verbs})
		}
	}
	return resources, err
}

// UnknownKindError is the error for a kind that isn't served.
type UnknownKindError struct {
	Kind schema.GroupVersionKind
	Err  error
}

// Error implements error.
func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("kind %s isn't served: %v", e.Kind, e.Err)
}

// Unwrap returns the reason.
func (e *UnknownKindError) Unwrap() error { return e.Err }

// ResourceOf returns the resource of a kind, in the version of the kind, and whether the resource is namespaced.
func (r *Resources) ResourceOf(kind schema.GroupVersionKind) (resource schema.GroupVersionResource, namespaced bool, err error) {
	mapping, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false, &UnknownKindError{kind, err}
	}
	return mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// Preferred returns a kind in the preferred version of its group. If the kind isn't served, Preferred returns it
// unchanged.
func (r *Resources) Preferred(kind schema.GroupVersionKind) schema.GroupVersionKind {
	mapping, err := r.mapper.RESTMapping(kind.GroupKind())
	if err != nil {
		return kind
	}
	return mapping.GroupVersionKind
}
