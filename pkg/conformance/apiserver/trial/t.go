package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// pollInterval is the time between two checks whether a change is in effect.
const pollInterval = 20 * time.Millisecond

// T has the methods by which a running case makes requests and reports findings. It has many methods, because each kind
// of step of a case is one method.
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

// Fail adds a finding: the last request had another result than the expected one. The case continues.
func (t *T) Fail(expected, seen string) {
	t.Report(conformance.Finding{Sent: t.last(), Expected: expected, Seen: seen})
}

// FailNow does the same as Fail, and ends the case.
func (t *T) FailNow(expected, seen string) {
	t.Fatal(conformance.Finding{Sent: t.last(), Expected: expected, Seen: seen})
}

// Equal adds a finding if two values differ in their JSON.
func (t *T) Equal(what string, expected, seen any) bool {
	if Same(expected, seen) {
		return true
	}
	t.Fail(fmt.Sprintf("%s: %s", what, text(expected)), fmt.Sprintf("%s: %s", what, text(seen)))
	return false
}

// True adds a finding if holds is false. The argument seen says what happened instead.
func (t *T) True(holds bool, expected, seen string) bool {
	if !holds {
		t.Fail(expected, seen)
	}
	return holds
}

// Contains adds a finding if the text seen doesn't contain the words.
func (t *T) Contains(what, words, seen string) bool {
	return t.True(strings.Contains(seen, words), fmt.Sprintf("%s with %q", what, words), fmt.Sprintf("%s: %q", what, seen))
}

// Eventually calls try until it returns "". If try still returns another text when the limit or the time of the case is
// over, Eventually ends the case with a finding that has the last text. Use Eventually for configurations, because a
// server may use a configuration only some time after it is stored.
func (t *T) Eventually(expected string, limit time.Duration, try func() string) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	missing := "no answer"
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		missing = try()
		return missing == "", nil
	})
	if err != nil {
		t.FailNow(expected, fmt.Sprintf("%s, after %v", missing, limit))
	}
}

func (t *T) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent
}
