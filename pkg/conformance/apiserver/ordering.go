package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// appends returns a reply whose patch appends a letter to data.trail of the object.
func appends(letter string) trial.Reply {
	return trial.Answering(func(c *trial.Call) trial.Response {
		return trial.Patched(trial.Add("/data/trail", c.Request().Text("object.data.trail")+letter))
	})
}

// ordering has the cases about the order of webhooks, admission plugins and validation.
var ordering = []trial.Test{
	{
		ID: "order.finalState", Source: dynamic + "Guaranteeing the final state of the object is seen",
		Promise: "A validating webhook sees the object that is stored.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", appends("a"), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b"), trial.Reinvoked(ifNeeded)), trial.Validating("c", trial.Allow()))
			stored := t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
			t.Equal("data that the validating webhook sees", stored["data"], t.One("c").At("object.data"))
		},
	},
	{
		ID: "order.systemFields", Source: chain + "Create",
		Promise: "Name, uid and creationTimestamp are set after mutating webhooks, and before validating webhooks, which see the stored values.",
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Allow())...)
			stored := t.Create(trial.ConfigMaps, t.ConfigMap("a").Without("metadata.name").With("metadata.generateName", "some-")).OK()
			calls := t.Calls()
			t.Called("mutating", "validating")
			for _, call := range calls {
				for _, field := range []string{"metadata.name", "metadata.uid", "metadata.creationTimestamp"} {
					want := stored.At(field)
					if call.Hook == "mutating" {
						want = nil
					}
					t.Equal(field+" that the "+call.Hook+" webhook sees", want, call.Request().At("object."+field))
				}
				t.Equal("name in the review of the "+call.Hook+" webhook", call.Request().Sub("object").Name(), call.Request().Text("name"))
			}
		},
	},
	{
		ID: "order.status", Source: chain + "Create",
		Promise: "The server sets the status of a new object after mutation: validating webhooks see the status that is stored, without the changes of mutating webhooks.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("mutating", trial.Patch(trial.Add("/status", trial.Object{"observedGeneration": 7})), trial.On("CREATE", trial.Deployments)),
				trial.Validating("validating", trial.Allow(), trial.On("CREATE", trial.Deployments)))
			stored := t.Create(trial.Deployments, deployment(t, "web")).OK()
			t.Equal("status.observedGeneration", nil, stored.At("status.observedGeneration"))
			t.Equal("the status that the validating webhook sees", stored["status"], t.One("validating").At("object.status"))
		},
	},
	{
		ID: "order.repairs", Source: chain + "Create",
		Promise: "Mutation comes before validation: a mutating webhook can make an invalid object valid.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("repairs", trial.Patch(trial.Add("/data", trial.Object{"key": "value"}))))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "not a key!", "value")).OK()
		},
	},
	{
		ID: "order.withinConfiguration", Source: reference + "MutatingWebhookConfiguration",
		Promise: "Mutating webhooks of a configuration are called in the order of its list, and each gets the changes of the earlier ones.",
		Run: func(t *trial.T) {
			t.InstallTogether("second", trial.Mutating("c", appends("c")), trial.Mutating("a", appends("a")))
			t.InstallTogether("first", trial.Mutating("d", appends("d")), trial.Mutating("b", appends("b")))
			t.Equal("data.trail", "dbca", t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK().At("data.trail"))
			t.Called("d", "b", "c", "a")
		},
	},
	{
		ID: "order.allValidating", Source: chain + "Requirements for extensible admission",
		Promise: "Order does not matter for validators: all of them are called, any of them refuses the request, and the answer is one of the refusals.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("a", trial.Allow()), trial.Validating("b", trial.Deny(http.StatusTeapot, "no")), trial.Validating("c", trial.Deny(http.StatusTeapot, "no")))
			message := t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot, "no").Text("message")
			t.True(strings.Count(message, "denied the request") == 1, "one refusal", message)
			t.Equal("the hooks that are called", []string{"a", "b", "c"}, inAnyOrder(t))
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID: "order.validatingInParallel", Source: chain + "Requirements for extensible admission",
		Promise: "Validators run in parallel: three webhooks that wait for one another all answer.",
		Run: func(t *trial.T) {
			var waiting atomic.Int32
			met := make(chan struct{})
			meets := func(w http.ResponseWriter, r *http.Request, c *trial.Call) {
				if waiting.Add(1) == 3 {
					close(met)
				}
				select {
				case <-met:
					trial.Allow()(w, r, c)
				case <-r.Context().Done():
				}
			}
			t.Install(trial.Validating("a", meets, trial.Within(5)), trial.Validating("b", meets, trial.Within(5)), trial.Validating("c", meets, trial.Within(5)))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
		},
	},
	{
		ID: "order.exists", Source: chain + "Create",
		Promise: "A create of an object that exists is reviewed, and then answered with 409.",
		Run: func(t *trial.T) {
			before := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(trial.Mutating("mutating", trial.Patch(trial.Add("/data/added", "yes"))), trial.Validating("validating", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "other")).Refused(http.StatusConflict, "already exists")
			t.Called("mutating", "validating")
			t.Equal("the object", before, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID: "order.noReviewOfBadRequests", Source: chain + "Create", Promise: "A request that can't be decoded isn't reviewed.",
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Allow())...)
			t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.ConfigMaps, ""), Body: []byte(`{"kind":`)}).Refused(http.StatusBadRequest)
			t.Delete(trial.ConfigMaps, "missing", nil).Refused(http.StatusNotFound)
			t.Called()
		},
	},
}

// inAnyOrder returns the sorted names of the webhooks that were called since the last Forget, and then calls Forget.
func inAnyOrder(t *trial.T) []string {
	hooks := []string{}
	for _, call := range t.Calls() {
		hooks = append(hooks, call.Hook)
	}
	t.Forget()
	slices.Sort(hooks)
	return hooks
}

// writing is a request that creates, changes or deletes the ConfigMap "thing".
type writing struct {
	name string
	// creates is true if the ConfigMap must not exist before the request. deletes is true if it doesn't exist after the
	// request.
	creates, deletes bool
	// section is the section about this kind of request in the document "Admission control changes".
	section string
	send    func(t *trial.T, data trial.Object) *trial.Answer
}

// writings has a request for each verb that writes an object, and for each kind of patch.
var writings = []writing{
	{"create", true, false, "Create",
		func(t *trial.T, data trial.Object) *trial.Answer { return t.Create(trial.ConfigMaps, thing(t, data)) }},
	{"applyCreates", true, false, "Patch", applyThing},
	{"update", false, false, "Update",
		func(t *trial.T, data trial.Object) *trial.Answer { return t.Update(trial.ConfigMaps, thing(t, data)) }},
	{"json", false, false, "Patch", func(t *trial.T, data trial.Object) *trial.Answer {
		return t.Patch(trial.ConfigMaps, "thing", trial.JSONPatch, []trial.Op{{Op: "replace", Path: "/data", Value: data}})
	}},
	{"merge", false, false, "Patch", patchThing(trial.MergePatch)},
	{"strategic", false, false, "Patch", patchThing(trial.StrategicPatch)},
	{"apply", false, false, "Patch", applyThing},
	{"delete", false, true, "Delete", func(t *trial.T, _ trial.Object) *trial.Answer { return t.Delete(trial.ConfigMaps, "thing", nil) }},
	{"deletecollection", false, true, "DeleteCollection", func(t *trial.T, _ trial.Object) *trial.Answer {
		return t.Delete(trial.ConfigMaps, "", nil, "labelSelector="+trial.LabelCase)
	}},
}

func thing(t *trial.T, data trial.Object) trial.Object {
	o := t.ConfigMap("thing")
	o["data"] = data
	return o.Copy()
}

func applyThing(t *trial.T, data trial.Object) *trial.Answer {
	return t.Apply(trial.ConfigMaps, thing(t, data), "tester", "force=true")
}

func patchThing(contentType string) func(*trial.T, trial.Object) *trial.Answer {
	return func(t *trial.T, data trial.Object) *trial.Answer {
		return t.Patch(trial.ConfigMaps, "thing", contentType, trial.Object{"data": data})
	}
}

// prepare creates the ConfigMap "thing", unless w.creates is true. It returns the stored ConfigMap, or nil if there is
// none.
func (w *writing) prepare(t *trial.T) any {
	t.Namespace()
	if !w.creates {
		t.Create(trial.ConfigMaps, thing(t, trial.Object{"made": "first"})).OK()
	}
	return stored(t)
}

// stored returns the ConfigMap "thing", or nil if it doesn't exist.
func stored(t *trial.T) any {
	if a := t.Get(trial.ConfigMaps, "thing"); a.Code != http.StatusNotFound {
		return a.OK()
	}
	return nil
}

// phases has the cases about what happens between the mutating and the validating webhooks, for each kind of request that
// writes an object.
var phases = phaseTests()

func phaseTests() []trial.Test {
	var tests []trial.Test
	for _, w := range writings {
		if w.deletes {
			continue
		}
		tests = append(tests, trial.Test{
			ID: "order.validationBetween." + w.name, Source: chain + w.section,
			Promise: "The object is validated after all modifications: validating webhooks never see an invalid object, and a mutating webhook can make the object valid or invalid: " + w.name + ".",
			Run:     w.validatedBetween,
		})
	}
	return append(tests, preparationTests()...)
}

// mutates returns a reply that appends a letter to data.trail, or allows a request without an object.
func (w *writing) mutates(letter string) trial.Reply {
	if w.deletes {
		return trial.Allow()
	}
	return appends(letter)
}

func (w *writing) validatedBetween(t *trial.T) {
	const invalid = "not a key!"
	before := w.prepare(t)
	var patch atomic.Value
	t.Install(trial.Mutating("mutating", trial.Answering(func(*trial.Call) trial.Response {
		return patch.Load().(trial.Response)
	})), trial.Validating("validating", trial.Allow()))
	for _, data := range []struct {
		sent  trial.Object
		patch trial.Response
	}{
		{trial.Object{"made": "second", invalid: ""}, trial.Response{"allowed": true}},
		{trial.Object{"made": "second"}, trial.Patched(trial.Add("/data/"+invalid, ""))},
	} {
		patch.Store(data.patch)
		w.send(t, data.sent).Refused(http.StatusUnprocessableEntity, "data")
		t.Called("mutating")
		t.Equal("the object", before, stored(t))
	}
	patch.Store(trial.Patched(trial.Op{Op: "remove", Path: "/data/" + invalid}))
	w.send(t, trial.Object{"made": "second", invalid: ""}).OK()
	t.Called("mutating", "validating")
	t.Equal("data", trial.Object{"made": "second"}, t.Get(trial.ConfigMaps, "thing").OK().At("data"))
}

// preparationTests returns cases about the fields that the server sets between the phases of a change.
func preparationTests() []trial.Test {
	var tests []trial.Test
	paused := trial.Object{"spec": trial.Object{"paused": true}}
	patched := func(contentType string, patch any) func(*trial.T) *trial.Answer {
		return func(t *trial.T) *trial.Answer {
			return t.Patch(trial.Deployments, "web", contentType, patch, "fieldManager=tester")
		}
	}
	for _, change := range []struct {
		name, section string
		send          func(*trial.T) *trial.Answer
		sent          any // the generation that the mutating webhook sees
	}{
		{"update", "Update", func(t *trial.T) *trial.Answer {
			return t.Update(trial.Deployments, deployment(t, "web").With("spec.paused", true))
		}, nil},
		{"json", "Patch", patched(trial.JSONPatch, []trial.Op{trial.Add("/spec/paused", true)}), 1},
		{"merge", "Patch", patched(trial.MergePatch, paused), 1},
		{"strategic", "Patch", patched(trial.StrategicPatch, paused), 1},
		{"apply", "Patch", func(t *trial.T) *trial.Answer {
			return t.Apply(trial.Deployments, t.Object(trial.Deployments, "web").With("spec.paused", true), "tester")
		}, 1},
	} {
		tests = append(tests, trial.Test{
			ID: "order.preparation." + change.name, Source: chain + change.section,
			Promise: "Generation and status are the server's: validating webhooks see those that are stored, without the changes of mutating webhooks: " + change.name + ".",
			Run: func(t *trial.T) {
				t.Create(trial.Deployments, deployment(t, "web")).OK()
				t.Patch(trial.Deployments.Sub("status"), "web", trial.MergePatch, trial.Object{"status": trial.Object{"observedGeneration": 1}}).OK()
				t.Install(trial.Mutating("mutating", trial.Patch(trial.Add("/metadata/generation", 77), trial.Add("/status", trial.Object{"observedGeneration": 77})), trial.On("UPDATE", trial.Deployments)),
					trial.Validating("validating", trial.Allow(), trial.On("UPDATE", trial.Deployments)))
				answer := change.send(t).OK()
				sent, prepared := t.Calls("mutating"), t.One("validating")
				if t.True(len(sent) == 1, "one call of the mutating webhook", fmt.Sprint(len(sent))) {
					t.Equal("the generation that the mutating webhook sees", change.sent, sent[0].Request().At("object.metadata.generation"))
				}
				t.Equal("the generation that the validating webhook sees", 2, prepared.At("object.metadata.generation"))
				t.Equal("the status that the validating webhook sees", prepared.At("oldObject.status"), prepared.At("object.status"))
				t.Equal("the generation that is stored", 2, answer.At("metadata.generation"))
				t.Equal("the status that is stored", prepared.At("object.status"), answer["status"])
			},
		})
	}
	return tests
}
