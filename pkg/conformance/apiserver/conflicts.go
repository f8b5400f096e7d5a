package apiserver

import (
	"net/http"
	"sync/atomic"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// repeats has the cases about objects that change while webhooks review a request for them.
var repeats = sourced(concepts+"Updates to existing resources", repeatTests())

func repeatTests() []trial.Test {
	var tests []trial.Test
	for _, w := range writings {
		if w.creates {
			continue // a create has no object that could change
		}
		tests = append(tests, trial.Test{
			ID: "repeat." + w.name, Needs: []trial.Need{trial.Since(30)},
			Promise: "If the object changes while webhooks review a request without a resourceVersion, the request applies to the changed object, and the webhooks review it again: " + w.name + ".",
			Run:     w.repeated,
		})
	}
	for _, c := range conditional {
		tests = append(tests, trial.Test{
			ID: "repeat.not." + c.name, Needs: []trial.Need{trial.Since(30)},
			Promise: "If the object changes while webhooks review a request with its resourceVersion, the request is answered with 409, and not reviewed again: " + c.name + ".",
			Run:     c.conflicts,
		})
	}
	return tests
}

// meddler is the field manager of the client that changes the object during a review.
const meddler = "meddler"

// unmeddled makes a webhook skip the requests whose field manager is meddler.
func unmeddled(h *trial.Hook) {
	trial.When("unmeddled", "!has(request.options.fieldManager) || request.options.fieldManager != '"+meddler+"'")(h)
}

// meddles returns a reply. During the first call, it adds a label to the object, by a request with the field manager
// meddler. The reply allows the reviewed requests, unless the server refuses the label.
func meddles(t *trial.T) trial.Reply {
	var once atomic.Bool
	path := t.Path(trial.ConfigMaps, "thing")
	return trial.Answering(func(*trial.Call) trial.Response {
		if once.CompareAndSwap(false, true) {
			a, err := t.Try(trial.Request{Verb: http.MethodPatch, Path: path, Type: trial.MergePatch, Query: []string{"fieldManager=" + meddler},
				Body: trial.Object{"metadata": trial.Object{"labels": trial.Object{meddler: "yes"}}}})
			if err != nil || !a.Succeeded() {
				return trial.Response{"allowed": false, "status": trial.Object{"message": "the object can't be changed during the review"}}
			}
		}
		return trial.Response{"allowed": true}
	})
}

func (w *writing) repeated(t *trial.T) {
	w.prepare(t)
	t.Install(trial.Mutating("mutating", w.mutates("m"), unmeddled), trial.Validating("validating", meddles(t), unmeddled))
	w.send(t, trial.Object{"made": "second", "trail": ""}).OK()
	labels := []any{}
	for _, call := range t.Calls() {
		labels = append(labels, call.Request().Sub("oldObject").Label(meddler))
	}
	t.Called("mutating", "validating", "mutating", "validating")
	t.Equal("the label of oldObject in each review", []any{nil, nil, "yes", "yes"}, labels)
	if w.deletes {
		t.Equal("the object", nil, stored(t))
		return
	}
	o := t.Get(trial.ConfigMaps, "thing").OK()
	t.Equal("data", trial.Object{"made": "second", "trail": "m"}, o["data"])
	t.Equal("the label that is stored", map[bool]any{true: nil, false: "yes"}[w.name == "update"], o.Label(meddler))
}

// conditional are requests that have the resourceVersion of the ConfigMap "thing".
var conditional = []conditionalRequest{
	{"update", func(t *trial.T, o trial.Object) *trial.Answer {
		return t.Update(trial.ConfigMaps, o.With("data.by", "update"))
	}},
	{"patch", func(t *trial.T, o trial.Object) *trial.Answer {
		return t.Patch(trial.ConfigMaps, "thing", trial.MergePatch, trial.Object{"metadata": trial.Object{"resourceVersion": o.Version()}, "data": trial.Object{"by": "patch"}})
	}},
	{"delete", func(t *trial.T, o trial.Object) *trial.Answer {
		return t.Delete(trial.ConfigMaps, "thing", trial.Object{"preconditions": trial.Object{"resourceVersion": o.Version()}})
	}},
}

type conditionalRequest struct {
	name string
	send func(*trial.T, trial.Object) *trial.Answer
}

func (c *conditionalRequest) conflicts(t *trial.T) {
	o := t.Create(trial.ConfigMaps, thing(t, trial.Object{"made": "first"})).OK()
	t.Install(trial.Validating("hook", meddles(t), unmeddled))
	c.send(t, o).Refused(http.StatusConflict)
	t.Called("hook")
	o = t.Get(trial.ConfigMaps, "thing").OK()
	t.Equal("the label", "yes", o.Label(meddler))
	t.Equal("data", trial.Object{"made": "first"}, o["data"])
}
