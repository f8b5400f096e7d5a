package policy

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
)

// document is the schema of apis/example.com/v1 as a server tells it.
type document struct {
	version int
	reads   *int
}

func (d document) ServerRelativeURL() string { return fmt.Sprintf("/openapi/v3/x?hash=%d", d.version) }

func (d document) Schema(string) ([]byte, error) {
	*d.reads++
	return []byte(`{"components": {"schemas": {"com.example.v1.Thing": {"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}]}}}}`), nil
}

type server map[string]openapi.GroupVersion

func (s server) Paths() (map[string]openapi.GroupVersion, error) { return s, nil }

func TestConverters(t *testing.T) {
	t.Parallel()
	reads := 0
	served := server{}
	c := &converters{openAPI: func() openapi.Client { return served }}
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	const path = "apis/example.com/v1"

	steps := []struct {
		name, reason string
		change       func()
		found        bool
		reads        int
	}{
		{name: "undefined", reason: "nobody has defined it"},
		{name: "defined", reason: "it is known at once", change: func() { served[path] = document{1, &reads} }, found: true, reads: 1},
		{name: "again", reason: "the schema is the same", found: true, reads: 1},
		{name: "changed", reason: "the schema is another", change: func() { served[path] = document{2, &reads} }, found: true, reads: 2},
	}
	for _, step := range steps {
		if step.change != nil {
			step.change()
		}
		if found := c.GetTypeConverter(kind) != nil; found != step.found || reads != step.reads {
			t.Errorf("%s: %s: found %t, read %d times; want %t, %d", step.name, step.reason, found, reads, step.found, step.reads)
		}
	}
}
