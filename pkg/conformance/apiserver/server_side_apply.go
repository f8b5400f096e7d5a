package apiserver

import (
	"fmt"
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// applies has the cases about server-side apply.
var applies = sourced(applyPages+"Field management", []trial.Test{
	{
		ID:      "apply.creates",
		Promise: "An apply creates an object that doesn't exist, and its fields are in an entry of managedFields with the manager.",
		Run: func(t *trial.T) {
			a := t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one")
			t.Equal("the code", http.StatusCreated, a.Code)
			entries := a.OK().Objects("metadata.managedFields")
			if t.True(len(entries) == 1, "one entry of managedFields", fmt.Sprint(len(entries))) {
				t.Equal("manager", "one", entries[0]["manager"])
				t.Equal("operation", "Apply", entries[0]["operation"])
				t.True(entries[0].Sub("fieldsV1").At("f:data.f:key") != nil, "the field data.key", fmt.Sprint(entries[0]["fieldsV1"]))
			}
		},
	},
	{
		ID: "apply.manager", Promise: "An apply needs a field manager.",
		Run: func(t *trial.T) {
			t.Patch(trial.ConfigMaps, "a", trial.ApplyPatch, t.ConfigMap("a")).Refused(http.StatusUnprocessableEntity, "fieldManager")
		},
	},
	{
		ID:      "apply.conflict",
		Promise: "An apply of a field that another manager has applied with another value is a conflict, with the field and the manager.",
		Run: func(t *trial.T) {
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK()
			status := t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "other"), "two").Refused(http.StatusConflict)
			causes := status.Objects("details.causes")
			if t.True(len(causes) == 1, "one cause", fmt.Sprint(len(causes))) {
				t.Equal("reason", "FieldManagerConflict", causes[0]["reason"])
				t.Equal("field", ".data.key", causes[0]["field"])
				t.Contains("message", `"one"`, causes[0].Text("message"))
			}
			t.Equal("data.key", "value", t.Get(trial.ConfigMaps, "a").OK().At("data.key"))
		},
	},
	{
		ID: "apply.force", Promise: "A forced apply takes the field over.",
		Run: func(t *trial.T) {
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK()
			t.Equal("data.key", "other", t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "other"), "two", "force=true").OK().At("data.key"))
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").Refused(http.StatusConflict)
		},
	},
	{
		ID: "apply.shared", Promise: "Managers that apply the same value share the field without a conflict.",
		Run: func(t *trial.T) {
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK()
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "two").OK()
			t.Equal("data after one manager gave the field up", trial.Object{"key": "value"}, t.Apply(trial.ConfigMaps, t.ConfigMap("a"), "one").OK().At("data"))
			t.Equal("data after both gave it up", nil, t.Apply(trial.ConfigMaps, t.ConfigMap("a").Without("data"), "two").OK().At("data.key"))
		},
	},
	{
		ID: "apply.removes", Promise: "A field that a manager no longer applies is removed; the fields of other managers stay.",
		Run: func(t *trial.T) {
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value", "gone", "soon"), "one").OK()
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "other", "stays"), "two").OK()
			t.Equal("data", trial.Object{"key": "value", "other": "stays"}, t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK().At("data"))
		},
	},
	{
		ID: "apply.unchanged", Promise: "An apply with no change writes nothing: the resourceVersion stays, and no event is sent.",
		Run: func(t *trial.T) {
			before := t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK()
			w := t.Watch(trial.ConfigMaps, "resourceVersion="+before.Version(), "labelSelector="+trial.LabelCase)
			for range 3 {
				t.Equal("the object", before, t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK())
			}
			t.Create(trial.ConfigMaps, t.ConfigMap("end")).OK()
			t.Equal("the next event", "end", w.Next(eventTimeout).Text("object.metadata.name"))
		},
	},
	{
		ID:      "apply.unchanged.null",
		Promise: "An apply with a creationTimestamp of null, which older clients send, writes nothing if the rest is the same.",
		Run: func(t *trial.T) {
			before := t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK()
			t.Equal("the object", before, t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value").With("metadata.creationTimestamp", nil), "one").OK())
		},
	},
	{
		ID:      "apply.update",
		Promise: "An update by another manager takes over the changed field: the next apply by the first manager is a conflict.",
		Run: func(t *trial.T) {
			o := t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK()
			t.Update(trial.ConfigMaps, o.With("data.key", "edited"), "fieldManager=editor").OK()
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").Refused(http.StatusConflict, "editor")
		},
	},
	{
		ID:      "apply.status",
		Promise: "Fields of the status are applied by the status subresource, and their entry of managedFields names the subresource.",
		Run: func(t *trial.T) {
			t.Create(trial.Deployments, deployment(t, "web")).OK()
			o := t.Object(trial.Deployments, "web").With("status", trial.Object{"observedGeneration": 1})
			o = t.Apply(trial.Deployments.Sub("status"), o, "controller").OK()
			t.Equal("status.observedGeneration", 1, o.At("status.observedGeneration"))
			found := false
			for _, entry := range o.Objects("metadata.managedFields") {
				found = found || entry["manager"] == "controller" && entry["subresource"] == "status" && entry["operation"] == "Apply"
			}
			t.True(found, "an entry of the manager controller for the subresource status", fmt.Sprint(o.At("metadata.managedFields")))
		},
	},
	{
		ID: "apply.managedFields", Promise: "An applied object must not have managedFields.",
		Run: func(t *trial.T) {
			o := t.ConfigMap("a").With("metadata.managedFields", []any{trial.Object{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": trial.Object{}}})
			t.Apply(trial.ConfigMaps, o, "one").Refused(http.StatusBadRequest, "managedFields")
		},
	},
	{
		ID: "apply.noReviewOfConflicts", Source: chain + "Patch", Promise: "An apply that is a conflict isn't reviewed.",
		Run: func(t *trial.T) {
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "one").OK()
			t.Install(pairOf(trial.Allow())...)
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "other"), "two").Refused(http.StatusConflict)
			t.Called()
		},
	},
})
