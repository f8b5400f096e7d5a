package v1alpha1_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// blocking are the hooks whose responses have retryAfterSeconds.
var blocking = []string{
	"AfterClusterUpgrade", "AfterControlPlaneUpgrade", "AfterWorkersUpgrade", "BeforeClusterCreate", "BeforeClusterDelete",
	"BeforeClusterUpgrade", "BeforeControlPlaneUpgrade", "BeforeWorkersUpgrade", "UpdateMachine",
}

var others = []string{
	"AfterControlPlaneInitialized", "CanUpdateMachine", "CanUpdateMachineSet", "DiscoverVariables", "Discovery",
	"GeneratePatches", "GenerateUpgradePlan", "ValidateTopology",
}

func TestHooks(t *testing.T) {
	t.Parallel()
	c := catalog.New()
	if err := clusterapi.AddToCatalog(c); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	var gotBlocking, gotOthers []string
	for _, d := range c.Hooks() {
		if _, is := d.NewRequest().(hooksv1.RequestObject); !is && d.Hook != "Discovery" {
			t.Errorf("the request of %s has no settings", d)
		}
		if _, is := d.NewResponse().(hooksv1.ResponseObject); !is {
			t.Errorf("the response of %s has no status", d)
		}
		if d.Summary == "" || d.Description == "" || len(d.Tags) == 0 {
			t.Errorf("%s isn't described: %+v", d, d.Metadata)
		}
		if d.Singleton != (d.Hook == "Discovery") {
			t.Errorf("%s: singleton is %v", d, d.Singleton)
		}
		if _, is := d.NewResponse().(hooksv1.RetryResponseObject); is {
			gotBlocking = append(gotBlocking, d.Hook)
		} else {
			gotOthers = append(gotOthers, d.Hook)
		}
	}
	if diff := cmp.Diff(blocking, gotBlocking); diff != "" {
		t.Errorf("blocking hooks (-want +got): %s", diff)
	}
	if diff := cmp.Diff(others, gotOthers); diff != "" {
		t.Errorf("other hooks (-want +got): %s", diff)
	}
}

// TestOpenAPI checks that the OpenAPI document describes each hook, and that each reference in the document
// leads to a schema.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	c := catalog.New()
	if err := clusterapi.AddToCatalog(c); err != nil {
		t.Fatal(err)
	}
	document, err := c.OpenAPI(spec.Info{InfoProps: spec.InfoProps{Title: "hooks", Version: "v1alpha1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(document.Paths.Paths), len(blocking)+len(others); got != want {
		t.Errorf("%d paths, not %d", got, want)
	}
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	references := 0
	for ref := range find(tree, "$ref") {
		references++
		if document.Components.Schemas[ref[len("#/components/schemas/"):]] == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	}
	if references < 2*len(document.Paths.Paths) {
		t.Errorf("%d references for %d paths", references, len(document.Paths.Paths))
	}
	request := document.Components.Schemas["github.com.miniapi-dev.miniapi.pkg.runtimehooks.api.clusterapi.v1alpha1.BeforeClusterUpgradeRequest"]
	if request == nil || !slices.Contains(request.Required, "toKubernetesVersion") || request.Properties["settings"].Type == nil {
		t.Errorf("the schema of a request is %+v", request)
	}
}

// find yields the strings that a JSON document has under a key, at any depth.
func find(tree any, key string) func(func(string) bool) {
	return func(yield func(string) bool) {
		switch node := tree.(type) {
		case []any:
			for _, child := range node {
				find(child, key)(yield)
			}
		case map[string]any:
			for name, child := range node {
				if text, is := child.(string); is && name == key {
					yield(text)
				}
				find(child, key)(yield)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, wire string }{
		{"object", "most variables are objects", `{"a":[1,"b"]}`},
		{"string", "a variable may be a string", `"v1.30.0"`},
		{"number", "numbers keep their digits", `12345678901234567890`},
		{"null", "null is a value too", `null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := `{"name":"x","value":` + test.wire + `}`
			var variable clusterapi.Variable
			if err := json.Unmarshal([]byte(want), &variable); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(variable)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("%s became %s (%s)", want, got, test.reason)
			}
		})
	}
	value, err := clusterapi.JSONOf(map[string]int{"replicas": 3})
	if err != nil {
		t.Fatal(err)
	}
	decoded := map[string]int{}
	if err := value.Decode(&decoded); err != nil || decoded["replicas"] != 3 {
		t.Errorf("decoded %v, %v", decoded, err)
	}
	if err := (clusterapi.JSON{}).Decode(&decoded); err == nil {
		t.Error("no JSON was decoded")
	}
}
