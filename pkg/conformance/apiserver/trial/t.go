package trial

import (
	"slices"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// T has the methods by which a running case makes requests and reports findings.
type T struct {
	*conformance.T
	Server *Server

	name string // the name of the case's namespace, and the beginning of the names of the case's cluster-scoped objects

	mu sync.Mutex
	// sent is the last request as text, for findings.
	sent       string
	namespaced bool
	created    []created
	// versions are the resource versions of the case's last writes, by path.
	versions map[string]string
	calls    []*Call
	paths    []interface{ Remove() }
}

// Name returns a name for a cluster-scoped object of the case. Names of the same case are in the order of their
// endings.
func (t *T) Name(ending string) string { return t.name + "-" + ending }

// Namespace returns the name of the case's namespace. The first call creates the namespace.
func (t *T) Namespace() string {
	t.mu.Lock()
	has := t.namespaced
	t.namespaced = true
	t.mu.Unlock()
	if !has {
		t.NewNamespace(t.name, nil)
	}
	return t.name
}

// NewNamespace creates a namespace of the case, with labels.
func (t *T) NewNamespace(name string, labels map[string]string) Object {
	o := t.Object(Namespaces, name)
	for key, value := range labels {
		o = o.WithLabel(key, value)
	}
	return t.Create(Namespaces, o).OK()
}

// Object returns an object of a resource with the labels of the case.
func (t *T) Object(r Resource, name string) Object {
	return Object{
		"apiVersion": r.KindGroupVersion(), "kind": r.Kind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{LabelRun: t.Server.run, LabelCase: t.name}},
	}
}

// ConfigMap returns a ConfigMap. The argument data has keys and values by turns.
func (t *T) ConfigMap(name string, data ...string) Object {
	fields := map[string]any{}
	for pair := range slices.Chunk(data, 2) {
		fields[pair[0]] = pair[1]
	}
	o := t.Object(ConfigMaps, name)
	o["data"] = fields
	return o
}
