package apiserver

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// writes has the cases about write requests, except for their admission.
var writes = sourced(concepts+"Resource versions and updates", []trial.Test{
	{
		ID: "write.create", Promise: "A create answers 201 with the object, its uid, resourceVersion and creationTimestamp.",
		Run: func(t *trial.T) {
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"))
			t.Equal("the code", http.StatusCreated, a.Code)
			for _, field := range []string{"metadata.uid", "metadata.resourceVersion", "metadata.creationTimestamp"} {
				t.True(a.Object.Text(field) != "", field, "none")
			}
			t.Equal("the object", a.Object, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID: "write.create.exists", Promise: "A create with a name that exists answers 409 AlreadyExists, and changes nothing.",
		Run: func(t *trial.T) {
			before := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Equal("reason", "AlreadyExists", t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "other")).Refused(http.StatusConflict)["reason"])
			t.Equal("the object", before, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID:      "write.create.ignored",
		Promise: "The server sets uid, resourceVersion and creationTimestamp: values of a client are not stored.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.uid", "mine").With("metadata.creationTimestamp", "2001-01-01T00:00:00Z")).OK()
			t.True(o.Text("metadata.uid") != "mine", "a uid of the server's", "mine")
			t.True(o.Text("metadata.creationTimestamp") != "2001-01-01T00:00:00Z", "the time of the creation", "2001")
		},
	},
	{
		ID: "write.recreated", Promise: "An object that is created again under its name has another uid.",
		Run: func(t *trial.T) {
			first := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			second := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.True(first.Text("metadata.uid") != second.Text("metadata.uid"), "another uid", second.Text("metadata.uid"))
		},
	},
	{
		ID: "write.generateName", Promise: "generateName makes a different name for each create.",
		Run: func(t *trial.T) {
			o := t.ConfigMap("a").Without("metadata.name").With("metadata.generateName", "some-")
			first, second := t.Create(trial.ConfigMaps, o).OK().Name(), t.Create(trial.ConfigMaps, o).OK().Name()
			t.True(first != second, "two names", first+" twice")
		},
	},
	{
		ID: "write.version.changes", Promise: "Every change gives an object another resourceVersion.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			seen := map[string]bool{o.Version(): true}
			for i := range 3 {
				o = t.Update(trial.ConfigMaps, o.With("data.key", fmt.Sprint(i))).OK()
				t.True(!seen[o.Version()], "a resourceVersion that is new", o.Version())
				seen[o.Version()] = true
			}
		},
	},
	{
		ID: "write.conflict", Promise: "An update with an older resourceVersion answers 409 Conflict, and changes nothing.",
		Run: func(t *trial.T) {
			first := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			second := t.Update(trial.ConfigMaps, first.With("data.key", "new")).OK()
			t.Equal("reason", "Conflict", t.Update(trial.ConfigMaps, first.With("data.key", "newer")).Refused(http.StatusConflict)["reason"])
			t.Equal("the object", second, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID: "write.conflict.patch", Promise: "A patch with an older resourceVersion answers 409 Conflict.",
		Run: func(t *trial.T) {
			first := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Update(trial.ConfigMaps, first.With("data.key", "new")).OK()
			t.Patch(trial.ConfigMaps, "a", trial.MergePatch, trial.Object{"metadata": trial.Object{"resourceVersion": first.Version()}, "data": trial.Object{"key": "newer"}}).Refused(http.StatusConflict)
		},
	},
	{
		ID:      "write.unconditional",
		Promise: "An update without a resourceVersion replaces whatever is stored, where the resource allows it.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "old")).OK()
			t.Equal("data", trial.Object{"other": "new"}, t.Update(trial.ConfigMaps, t.ConfigMap("a", "other", "new")).OK().At("data"))
		},
	},
	{
		ID: "write.uid", Promise: "An update with another uid answers 409.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Update(trial.ConfigMaps, t.ConfigMap("a").With("metadata.uid", "another")).Refused(http.StatusConflict)
		},
	},
	{
		ID: "write.unchanged.update", Promise: "An update that changes nothing writes nothing: the resourceVersion stays.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Equal("resourceVersion", o.Version(), t.Update(trial.ConfigMaps, o).OK().Version())
		},
	},
	{
		ID: "write.unchanged.patch", Promise: "A patch that changes nothing writes nothing: the resourceVersion stays.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			for _, contentType := range []string{trial.MergePatch, trial.StrategicPatch} {
				t.Equal("resourceVersion", o.Version(), t.Patch(trial.ConfigMaps, "a", contentType, trial.Object{"data": trial.Object{"key": "value"}}).OK().Version())
			}
		},
	},
	{
		ID: "write.unchanged.json", Promise: "A JSON patch that replaces a value by itself writes nothing: the resourceVersion stays.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			patch := []trial.Op{{Op: "replace", Path: "/data/key", Value: "value"}}
			t.Equal("the object", o, t.Patch(trial.ConfigMaps, "a", trial.JSONPatch, patch).OK())
		},
	},
	{
		ID:      "write.unchanged.null",
		Promise: "Merge patches with null for fields that don't exist or are the server's write nothing: the resourceVersion stays.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			for _, contentType := range []string{trial.MergePatch, trial.StrategicPatch} {
				patch := trial.Object{"metadata": trial.Object{"creationTimestamp": nil, "labels": trial.Object{"none": nil}}, "data": trial.Object{"other": nil}}
				t.Equal("the object", o, t.Patch(trial.ConfigMaps, "a", contentType, patch).OK())
			}
		},
	},
	{
		ID:      "write.unchanged.less",
		Promise: "An update without the metadata that the server sets writes nothing if the rest is the same: the resourceVersion stays.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			less := o.Without("metadata.managedFields").Without("metadata.uid").Without("metadata.creationTimestamp")
			t.Equal("resourceVersion", o.Version(), t.Update(trial.ConfigMaps, less).OK().Version())
		},
	},
	{
		ID:      "write.unchanged.later",
		Promise: "An update or a patch that changes nothing writes nothing in a later second, too: the times of the managed fields stay.",
		Cost:    2 * time.Second,
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "fieldManager=tester").OK()
			before := t.Patch(trial.ConfigMaps, "a", trial.MergePatch, trial.Object{"data": trial.Object{"key": "new"}}, "fieldManager=tester").OK()
			began := time.Now().Unix()
			t.Eventually("the next second begins", 10*time.Second, func() string {
				if time.Now().Unix() < began+2 {
					return "it is the same second"
				}
				return ""
			})
			t.Equal("the object after an update", before, t.Update(trial.ConfigMaps, before, "fieldManager=tester").OK())
			t.Equal("the object after a patch", before, t.Patch(trial.ConfigMaps, "a", trial.MergePatch, trial.Object{"data": trial.Object{"key": "new"}}, "fieldManager=tester").OK())
		},
	},
	{
		ID: "write.name", Promise: "The name in the object must equal the name in the path.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Do(trial.Request{Verb: http.MethodPut, Path: t.Path(trial.ConfigMaps, "a"), Body: t.ConfigMap("b")}).Refused(http.StatusBadRequest)
		},
	},
	{
		ID: "write.namespace", Promise: "The namespace in the object must equal the namespace in the path.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.namespace", "another")).Refused(http.StatusBadRequest)
		},
	},
	{
		ID: "write.kind", Promise: "An object of another kind is refused with 400.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a").With("kind", "Secret")).Refused(http.StatusBadRequest)
		},
	},
	{
		ID: "write.missing", Promise: "A read, update or delete of an object that doesn't exist answers 404 NotFound.",
		Run: func(t *trial.T) {
			t.Equal("reason", "NotFound", t.Get(trial.ConfigMaps, "missing").Refused(http.StatusNotFound)["reason"])
			t.Update(trial.ConfigMaps, t.ConfigMap("missing")).Refused(http.StatusNotFound)
			t.Delete(trial.ConfigMaps, "missing", nil).Refused(http.StatusNotFound)
		},
	},
	{
		ID: "write.noNamespace", Promise: "A create in a namespace that doesn't exist answers 404.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps.In(t.Name("missing")), t.ConfigMap("a")).Refused(http.StatusNotFound, "namespaces")
		},
	},
	{
		ID: "write.invalid", Promise: "An invalid object answers 422 Invalid, with the field in details.causes.",
		Run: func(t *trial.T) {
			status := t.Create(trial.ConfigMaps, t.ConfigMap("a", "not a key!", "value")).Refused(http.StatusUnprocessableEntity)
			t.Equal("reason", "Invalid", status["reason"])
			t.True(len(status.Objects("details.causes")) == 1, "one cause", fmt.Sprint(status.At("details")))
		},
	},
	{
		ID: "write.malformed", Promise: "A body that isn't JSON is refused with 400.",
		Run: func(t *trial.T) {
			t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.ConfigMaps, ""), Body: []byte("{")}).Refused(http.StatusBadRequest)
		},
	},
	{
		ID: "write.mediaType", Promise: "A media type that the server doesn't support answers 415.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.ConfigMaps, ""), Type: "text/plain", Body: t.ConfigMap("b")}).Refused(http.StatusUnsupportedMediaType)
			t.Patch(trial.ConfigMaps, "a", trial.JSON, trial.Object{}).Refused(http.StatusUnsupportedMediaType)
		},
	},
	{
		ID: "write.method", Promise: "A verb that a resource doesn't have answers 405.",
		Run: func(t *trial.T) {
			t.Do(trial.Request{Verb: http.MethodPut, Path: t.Path(trial.ConfigMaps, ""), Body: t.ConfigMap("a")}).Refused(http.StatusMethodNotAllowed)
		},
	},
	{
		ID: "write.tooLarge", Promise: "A body that is larger than the server accepts is refused with 413.",
		Run: func(t *trial.T) {
			big := t.ConfigMap("a", "key", string(bytes.Repeat([]byte("a"), 4<<20)))
			t.Create(trial.ConfigMaps, big).Refused(http.StatusRequestEntityTooLarge)
		},
	},
	{
		ID: "write.immutable", Promise: "An immutable ConfigMap's data can't be changed.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value").With("immutable", true)).OK()
			t.Update(trial.ConfigMaps, o.With("data.key", "new")).Refused(http.StatusUnprocessableEntity, "immutable")
		},
	},
	{
		ID: "write.status.separate", Promise: "A write of the object ignores its status, and a write of the status ignores the rest.",
		Run: func(t *trial.T) {
			o := t.Create(trial.Deployments, deployment(t, "web")).OK()
			t.Equal("status after an update of the object", nil, t.Update(trial.Deployments, o.With("status.observedGeneration", 9)).OK().At("status.observedGeneration"))
			o = t.Update(trial.Deployments.Sub("status"), o.Without("metadata.resourceVersion").With("status.observedGeneration", 1).With("spec.paused", true)).OK()
			t.Equal("status after an update of the status", 1, o.At("status.observedGeneration"))
			t.Equal("spec after an update of the status", nil, o.At("spec.paused"))
		},
	},
	{
		ID: "write.generation", Promise: "The generation of an object with a spec and a status grows only with changes of the spec.",
		Run: func(t *trial.T) {
			o := t.Create(trial.Deployments, deployment(t, "web")).OK()
			t.Equal("generation after create", 1, o.At("metadata.generation"))
			o = t.Patch(trial.Deployments, "web", trial.MergePatch, trial.Object{"metadata": trial.Object{"labels": trial.Object{"a": "b"}}}).OK()
			t.Equal("generation after a change of metadata", 1, o.At("metadata.generation"))
			o = t.Patch(trial.Deployments, "web", trial.MergePatch, trial.Object{"spec": trial.Object{"paused": true}}).OK()
			t.Equal("generation after a change of the spec", 2, o.At("metadata.generation"))
		},
	},
	{
		ID: "write.strategic", Promise: "A strategic merge patch merges lists of objects by their keys.",
		Run: func(t *trial.T) {
			t.Create(trial.Deployments, deployment(t, "web")).OK()
			patch := trial.Object{"spec": trial.Object{"template": trial.Object{"spec": trial.Object{"containers": []any{trial.Object{"name": "second", "image": "conformance.invalid/second:1"}}}}}}
			t.Equal("containers", 2, len(t.Patch(trial.Deployments, "web", trial.StrategicPatch, patch).OK().List("spec.template.spec.containers")))
			t.Equal("containers after a merge patch", 1, len(t.Patch(trial.Deployments, "web", trial.MergePatch, patch).OK().List("spec.template.spec.containers")))
		},
	},
	{
		ID: "write.mergeNull", Promise: "A null in a merge patch removes the field.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value", "other", "stays")).OK()
			t.Equal("data", trial.Object{"other": "stays"}, t.Patch(trial.ConfigMaps, "a", trial.MergePatch, trial.Object{"data": trial.Object{"key": nil}}).OK().At("data"))
		},
	},
	{
		ID: "write.fieldValidation.strict", Promise: "fieldValidation=Strict refuses unknown and duplicate fields with 400.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a").With("unheardOf", 1), "fieldValidation=Strict").Refused(http.StatusBadRequest, `unknown field "unheardOf"`)
			t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.ConfigMaps, ""), Query: []string{"fieldValidation=Strict"},
				Body: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b","a":"c"}}`)}).Refused(http.StatusBadRequest, "duplicate field")
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID:      "write.fieldValidation.warn",
		Promise: "fieldValidation=Warn accepts unknown fields, drops them, and warns; it is the default.",
		Run: func(t *trial.T) {
			for name, query := range map[string][]string{"a": {"fieldValidation=Warn"}, "b": nil} {
				a := t.Create(trial.ConfigMaps, t.ConfigMap(name).With("unheardOf", 1), query...)
				t.Equal("unheardOf", nil, a.OK()["unheardOf"])
				warned(t, a, `unknown field \"unheardOf\"`)
			}
		},
	},
	{
		ID: "write.fieldValidation.ignore", Promise: "fieldValidation=Ignore drops unknown fields without a warning.",
		Run: func(t *trial.T) {
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a").With("unheardOf", 1), "fieldValidation=Ignore")
			t.Equal("unheardOf", nil, a.OK()["unheardOf"])
			t.Equal("warnings", 0, len(a.Warnings()))
		},
	},
	{
		ID: "write.fieldValidation.patch", Promise: "fieldValidation also applies to patches.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Patch(trial.ConfigMaps, "a", trial.MergePatch, trial.Object{"unheardOf": 1}, "fieldValidation=Strict").Refused(http.StatusUnprocessableEntity, "unheardOf")
		},
	},
	{
		ID:      "write.precondition.uid",
		Promise: "A delete with another uid as precondition answers 409, isn't reviewed, and deletes nothing.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Install(pairOf(trial.Allow())...)
			t.Delete(trial.ConfigMaps, "a", trial.Object{"preconditions": trial.Object{"uid": "another"}}).Refused(http.StatusConflict)
			t.Called()
			t.Get(trial.ConfigMaps, "a").OK()
			t.Delete(trial.ConfigMaps, "a", trial.Object{"preconditions": trial.Object{"uid": o.Text("metadata.uid"), "resourceVersion": o.Version()}}).OK()
			t.Called("mutating", "validating")
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID:      "write.precondition.version",
		Promise: "A delete with an older resourceVersion as precondition answers 409, isn't reviewed, and deletes nothing.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Update(trial.ConfigMaps, o.With("data.key", "new")).OK()
			t.Install(pairOf(trial.Allow())...)
			t.Delete(trial.ConfigMaps, "a", trial.Object{"preconditions": trial.Object{"resourceVersion": o.Version()}}).Refused(http.StatusConflict)
			t.Called()
			t.Get(trial.ConfigMaps, "a").OK()
		},
	},
})
