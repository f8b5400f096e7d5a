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

// pollInterval is how often a case asks whether a server has taken notice.
const pollInterval = 20 * time.Millisecond

// T is the handle of a running case.
type T struct {
	*conformance.T
	Server *Server

	name string // of the case's namespace; begins the names of its other objects

	mu sync.Mutex
	// sent is the last request, for findings.
	sent       string
	namespaced bool
	created    []created
	// versions are the resource versions of the case's last writes, by path.
	versions map[string]string
	calls    []*Call
	paths    []interface{ Remove() }
}

// Name returns a name for an object of cluster scope. Names of a case sort as their endings do.
func (t *T) Name(ending string) string { return t.name + "-" + ending }

// Namespace returns the case's namespace. The first call creates it.
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

// NewNamespace creates another namespace of the case, with further labels.
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

// ConfigMap returns a ConfigMap with data, whose keys and values alternate.
func (t *T) ConfigMap(name string, data ...string) Object {
	fields := map[string]any{}
	for pair := range slices.Chunk(data, 2) {
		fields[pair[0]] = pair[1]
	}
	o := t.Object(ConfigMaps, name)
	o["data"] = fields
	return o
}

// Fail reports that the last request had another outcome than promised. The case goes on.
func (t *T) Fail(expected, seen string) {
	t.Report(conformance.Finding{Sent: t.last(), Expected: expected, Seen: seen})
}

// FailNow is Fail, and ends the case.
func (t *T) FailNow(expected, seen string) {
	t.Fatal(conformance.Finding{Sent: t.last(), Expected: expected, Seen: seen})
}

// Equal reports a value that isn't the one promised. Values are compared as JSON.
func (t *T) Equal(what string, expected, seen any) bool {
	if Same(expected, seen) {
		return true
	}
	t.Fail(fmt.Sprintf("%s: %s", what, text(expected)), fmt.Sprintf("%s: %s", what, text(seen)))
	return false
}

// True reports what is false. Seen says what there is instead.
func (t *T) True(holds bool, expected, seen string) bool {
	if !holds {
		t.Fail(expected, seen)
	}
	return holds
}

// Contains reports a text without the words promised.
func (t *T) Contains(what, words, seen string) bool {
	return t.True(strings.Contains(seen, words), fmt.Sprintf("%s with %q", what, words), fmt.Sprintf("%s: %q", what, seen))
}

// Eventually tries until the function returns "", and fails with the function's last words when the case's time, or
// the limit, is over. Servers take notice of configuration after they have stored it.
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
