package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/common"
)

// Catalog is a set of hooks. Register, AddConversions and AddSchemas fill it. These three methods must not run at
// the same time as any other method.
type Catalog struct {
	hooks map[GroupVersionHook]*Descriptor
	// names maps the qualified name of a function to the name of the hook that the function defines.
	names       map[string]GroupVersionHook
	conversions map[conversionKey]func(in, out runtime.Object) error
	schemas     []common.GetOpenAPIDefinitions
}

// New returns an empty catalog.
func New() *Catalog {
	return &Catalog{
		hooks:       map[GroupVersionHook]*Descriptor{},
		names:       map[string]GroupVersionHook{},
		conversions: map[conversionKey]func(in, out runtime.Object) error{},
	}
}

// Descriptor describes a hook of a catalog.
type Descriptor struct {
	GroupVersionHook
	Metadata
	// Func is the function that defines the hook.
	Func Hook
	// Request and Response are the kinds of the hook's request and response. The name of a kind is the name of the Go
	// type.
	Request, Response schema.GroupVersionKind

	function          string       // the qualified name of Func
	request, response reflect.Type // the struct types
}

// NewRequest returns an empty request of the hook.
func (d *Descriptor) NewRequest() runtime.Object { return newObject(d.request) }

// NewResponse returns an empty response of the hook.
func (d *Descriptor) NewResponse() runtime.Object { return newObject(d.response) }

// CheckRequest returns an error if the object is nil or doesn't have the type of the hook's requests.
func (d *Descriptor) CheckRequest(obj runtime.Object) error {
	return checkType(d, "request", d.request, obj)
}

// CheckResponse returns an error if the object is nil or doesn't have the type of the hook's responses.
func (d *Descriptor) CheckResponse(obj runtime.Object) error {
	return checkType(d, "response", d.response, obj)
}

func checkType(d *Descriptor, what string, want reflect.Type, obj runtime.Object) error {
	if got := reflect.TypeOf(obj); got != reflect.PointerTo(want) {
		return fmt.Errorf("the %s of hook %s must have type *%s, got %v", what, d.GroupVersionHook, want, got)
	}
	if reflect.ValueOf(obj).IsNil() {
		return fmt.Errorf("the %s of hook %s must not be nil", what, d.GroupVersionHook)
	}
	return nil
}

func newObject(t reflect.Type) runtime.Object { return reflect.New(t).Interface().(runtime.Object) }

// Register adds hooks under a group version, which must have a group and a version. It adds all definitions or none. An
// error about definitions names each hook that can't be added. A definition that is in the catalog may be added again
// under the same group version. Register refuses another definition of the same hook: a definition with another
// function, or with other metadata.
func (c *Catalog) Register(gv schema.GroupVersion, definitions ...Definition) error {
	if gv.Group == "" || gv.Version == "" {
		return fmt.Errorf("hooks of group version %q: must have a group and a version", gv)
	}
	// The definitions are added to a copy, so that an error leaves the catalog unchanged.
	with := &Catalog{hooks: maps.Clone(c.hooks), names: maps.Clone(c.names)}
	var errs []error
	for _, definition := range definitions {
		errs = append(errs, with.add(gv, definition))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	c.hooks, c.names = with.hooks, with.names
	return nil
}

// add adds a hook under a group version. It changes nothing if the catalog has the definition.
func (c *Catalog) add(gv schema.GroupVersion, definition Definition) error {
	gvh := GroupVersionHook{Group: gv.Group, Version: gv.Version, Hook: definition.name}
	if definition.err != nil {
		return fmt.Errorf("hook %s: %w", gvh, definition.err)
	}
	if old := c.hooks[gvh]; old != nil {
		return old.mustEqual(definition)
	}
	if old, ok := c.names[definition.function]; ok {
		return fmt.Errorf("hook %s: function %s is registered as hook %s already: give each hook its own function", gvh, definition.function, old)
	}
	c.names[definition.function] = gvh
	c.hooks[gvh] = &Descriptor{
		GroupVersionHook: gvh,
		Metadata:         definition.metadata,
		Func:             definition.hook,
		Request:          gv.WithKind(definition.request.Name()),
		Response:         gv.WithKind(definition.response.Name()),
		function:         definition.function,
		request:          definition.request,
		response:         definition.response,
	}
	return nil
}

// mustEqual returns an error if a definition of the hook differs from the definition that is registered.
func (d *Descriptor) mustEqual(other Definition) error {
	switch {
	case d.function != other.function:
		return fmt.Errorf("hook %s is already registered with function %s, and can't also have function %s: define each hook of a version once",
			d.GroupVersionHook, d.function, other.function)
	case !reflect.DeepEqual(d.Metadata, other.metadata):
		return fmt.Errorf("hook %s is already registered with the metadata %+v, and can't also have %+v: define each hook of a version once",
			d.GroupVersionHook, d.Metadata, other.metadata)
	}
	return nil
}

// Hook returns the hook with the name, or nil if the catalog doesn't have it.
func (c *Catalog) Hook(gvh GroupVersionHook) *Descriptor { return c.hooks[gvh] }

// Describe returns the hook that a function defines. If the catalog doesn't have the hook, Describe returns an error.
func (c *Catalog) Describe(hook Hook) (*Descriptor, error) {
	function, err := functionName(hook)
	if err != nil {
		return nil, err
	}
	gvh, ok := c.names[function]
	if !ok {
		return nil, fmt.Errorf("the catalog has no hook for function %s: register the hook by Register", function)
	}
	return c.hooks[gvh], nil
}

// Find returns the hook that is named GROUP/VERSION/HOOK. A bare HOOK stands for the newest version, if only one
// group has a hook of that name.
func (c *Catalog) Find(name string) (*Descriptor, error) {
	var found *Descriptor
	known := sets.New[string]()
	for _, d := range c.Hooks() {
		known.Insert(d.Hook)
		switch {
		case d.String() == name:
			return d, nil
		case d.Hook != name || found != nil && found.Group == d.Group:
		case found != nil:
			return nil, fmt.Errorf("groups %s and %s have a hook %q: give the name as GROUP/VERSION/HOOK", found.Group, d.Group, name)
		default:
			found = d
		}
	}
	if found == nil {
		return nil, fmt.Errorf("the catalog has no hook %q: must be one of %s", name, strings.Join(sets.List(known), ", "))
	}
	return found, nil
}

// Hooks returns all hooks, sorted by group and name. The newest version of a hook comes first.
func (c *Catalog) Hooks() []*Descriptor {
	all := make([]*Descriptor, 0, len(c.hooks))
	for _, d := range c.hooks {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *Descriptor) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Hook, b.Hook), newestFirst(a, b))
	})
	return all
}

// Versions returns the versions of a hook. The newest comes first.
func (c *Catalog) Versions(hook GroupHook) []*Descriptor {
	var versions []*Descriptor
	for gvh, d := range c.hooks {
		if gvh.GroupHook() == hook {
			versions = append(versions, d)
		}
	}
	slices.SortFunc(versions, newestFirst)
	return versions
}

func newestFirst(a, b *Descriptor) int {
	return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
}
