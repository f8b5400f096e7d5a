package apiserver

import (
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// patches has the cases about the reviews of patch requests.
var patches = patchTests()

func patchTests() []trial.Test {
	var tests []trial.Test
	for _, p := range []struct {
		name, contentType string
		patch             any
	}{
		{"json", trial.JSONPatch, []any{trial.Object{"op": "replace", "path": "/data/key", "value": "new"}}},
		{"merge", trial.MergePatch, trial.Object{"data": trial.Object{"key": "new"}}},
		{"strategic", trial.StrategicPatch, trial.Object{"data": trial.Object{"key": "new"}}},
		{"apply", trial.ApplyPatch, nil},
	} {
		tests = append(tests, trial.Test{
			ID: "patch.reviewed." + p.name, Source: chain + "Patch",
			Promise: "A patch is reviewed as an UPDATE, with the whole patched object, the existing one and UpdateOptions: " + p.contentType + ".",
			Run: func(t *trial.T) {
				t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "old", "other", "stays"), "first").OK()
				t.Install(pairOf(trial.Allow())...)
				patch, query := p.patch, []string{"fieldManager=tester"}
				if p.contentType == trial.ApplyPatch {
					patch, query = t.ConfigMap("a", "key", "new"), append(query, "force=true")
				}
				t.Patch(trial.ConfigMaps, "a", p.contentType, patch, query...).OK()
				for _, call := range t.Calls() {
					r := call.Request()
					t.Equal("operation", "UPDATE", r.At("operation"))
					t.Equal("object.data", trial.Object{"key": "new", "other": "stays"}, r.At("object.data"))
					t.Equal("oldObject.data", trial.Object{"key": "old", "other": "stays"}, r.At("oldObject.data"))
					t.Equal("options.kind", "UpdateOptions", r.At("options.kind"))
					t.Equal("options.fieldManager", "tester", r.At("options.fieldManager"))
				}
				t.Called("mutating", "validating")
			},
		}, trial.Test{
			ID: "patch.mutated." + p.name, Source: chain + "Patch",
			Promise: "Mutating webhooks change what a patch stores: " + p.contentType + ".",
			Run: func(t *trial.T) {
				t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "old"), "first").OK()
				t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/data/added", "yes"))))
				patch, query := p.patch, []string{"fieldManager=tester"}
				if p.contentType == trial.ApplyPatch {
					patch, query = t.ConfigMap("a", "key", "new"), append(query, "force=true")
				}
				t.Patch(trial.ConfigMaps, "a", p.contentType, patch, query...).OK()
				t.Equal("data", trial.Object{"added": "yes", "key": "new"}, t.Get(trial.ConfigMaps, "a").OK().At("data"))
			},
		})
	}
	return append(tests, trial.Test{
		ID: "patch.applyCreates", Source: applyPages + "Operations",
		Promise: "An apply that creates the object is reviewed as a CREATE with CreateOptions, and without oldObject.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Allow()))
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "tester").OK()
			r := t.One("hook")
			t.Equal("operation", "CREATE", r.At("operation"))
			t.Equal("oldObject", nil, r.At("oldObject"))
			t.Equal("options.kind", "CreateOptions", r.At("options.kind"))
			t.Equal("options.fieldManager", "tester", r.At("options.fieldManager"))
		},
	}, trial.Test{
		ID: "patch.test", Source: chain + "Patch",
		Promise: "A JSON patch whose test fails isn't reviewed, and changes nothing.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(pairOf(trial.Allow())...)
			patch := []any{trial.Object{"op": "test", "path": "/data/key", "value": "other"}, trial.Object{"op": "remove", "path": "/data/key"}}
			t.Patch(trial.ConfigMaps, "a", trial.JSONPatch, patch).Refused(http.StatusUnprocessableEntity)
			t.Called()
		},
	}, trial.Test{
		ID: "patch.missing", Source: chain + "Patch",
		Promise: "A patch of an object that doesn't exist isn't reviewed, unless it is an apply.",
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Allow())...)
			t.Patch(trial.ConfigMaps, "missing", trial.MergePatch, trial.Object{"data": trial.Object{"a": "b"}}).Refused(http.StatusNotFound)
			t.Called()
		},
	})
}
