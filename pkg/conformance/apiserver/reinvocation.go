package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

const ifNeeded = admissionregistrationv1.IfNeededReinvocationPolicy

// reinvocation has the cases about calling mutating webhooks again.
var reinvocation = reinvocationTests()

func reinvocationTests() []trial.Test {
	var tests []trial.Test
	for _, r := range []struct {
		name, promise string
		hooks         []*trial.Hook
		calls         []string
		trail         string
	}{
		{"never", "Never: the webhook must not be called more than once in a single admission evaluation.",
			[]*trial.Hook{trial.Mutating("a", appends("a"), trial.Reinvoked(admissionregistrationv1.NeverReinvocationPolicy)), trial.Mutating("b", appends("b"))},
			[]string{"a", "b"}, "ab"},
		{"default", "reinvocationPolicy defaults to Never: a webhook without it is called once.",
			[]*trial.Hook{trial.Mutating("a", appends("a")), trial.Mutating("b", appends("b"))}, []string{"a", "b"}, "ab"},
		{"afterLater", "IfNeeded: the webhook is called again if the object is modified by other admission plugins after the initial webhook call.",
			[]*trial.Hook{trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b"))},
			[]string{"a", "b", "a"}, "b"},
		{"notWithoutChange", "No reinvocation: no webhook changes the object, so none is called again.",
			[]*trial.Hook{trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("b", trial.Allow(), trial.Reinvoked(ifNeeded))},
			[]string{"a", "b"}, "-"},
		{"notByOwnChange", "A webhook isn't called again because of its own change.",
			[]*trial.Hook{trial.Mutating("a", appends("a"), trial.Reinvoked(ifNeeded))}, []string{"a"}, "a"},
		{"partial", "Multiple webhooks, partial reinvocation: no mutations occurred after webhook B was called, so B isn't called again.",
			[]*trial.Hook{trial.Mutating("a", onlyWithout("a"), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b"), trial.Reinvoked(ifNeeded))},
			[]string{"a", "b", "a"}, "ab"},
		{"full", "Multiple webhooks, full reinvocation: webhook A mutated after webhook B was called, so both are reinvoked once, without further loops.",
			[]*trial.Hook{trial.Mutating("a", appends("a"), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b"), trial.Reinvoked(ifNeeded))},
			[]string{"a", "b", "a", "b"}, "abab"},
		{"onlyOptedIn", "Only the webhooks that indicate they want to be reinvoked are called again.",
			[]*trial.Hook{trial.Mutating("a", appends("a")), trial.Mutating("b", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("c", appends("c"))},
			[]string{"a", "b", "c", "b"}, "ac"},
	} {
		tests = append(tests, trial.Test{
			ID: "reinvocation." + r.name, Promise: r.promise, Source: kep492 + "Mutating Plugin ordering",
			Run: func(t *trial.T) {
				var hooks []*trial.Hook
				for _, h := range r.hooks { // the case may run more than once in a process, so it changes copies
					clone := *h
					hooks = append(hooks, &clone)
				}
				t.Install(hooks...)
				o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
				t.Called(r.calls...)
				if r.trail != "-" {
					t.Equal("data.trail, to which each webhook appends", r.trail, o.At("data.trail"))
				}
			},
		})
	}
	return append(tests, trial.Test{
		ID: "reinvocation.condition", Source: dynamic + "Reinvocation policy", Needs: []trial.Need{trial.Since(30)},
		Promise: "A webhook whose conditions the changed object no longer matches isn't called again.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded), trial.When("untouched", "object.data.trail == ''")), trial.Mutating("b", appends("b")))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
			t.Called("a", "b")
		},
	}, trial.Test{
		ID: "reinvocation.denied", Source: dynamic + "Reinvocation policy",
		Promise: "A webhook that is called again can refuse the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Answering(func(c *trial.Call) trial.Response {
				if c.Request().Text("object.data.trail") == "" {
					return trial.Response{"allowed": true}
				}
				return trial.Response{"allowed": false, "status": trial.Object{"code": http.StatusTeapot, "message": "not like this"}}
			}), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b")))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).Refused(http.StatusTeapot, "a.conformance.miniapi.dev", "not like this")
			t.Called("a", "b", "a")
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	}, trial.Test{
		ID: "reinvocation.samePatch", Source: dynamic + "Reinvocation policy",
		Promise: "A patch that leaves the object as it is causes no reinvocation.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)),
				trial.Mutating("b", trial.Patch(trial.Op{Op: "replace", Path: "/data/key", Value: "value"})))
			t.Update(trial.ConfigMaps, o).OK()
			t.Called("a", "b")
		},
	}, trial.Test{
		ID: "reinvocation.onlyCalled", Source: dynamic + "Reinvocation policy",
		Promise: "A webhook that wasn't called isn't called later, even if the changed object matches; a webhook after the change is called.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded), trial.Objects("opt", "in")),
				trial.Mutating("b", trial.Patch(trial.Add("/metadata/labels/opt", "in"))),
				trial.Mutating("c", trial.Allow(), trial.Objects("opt", "in")))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Called("b", "c")
		},
	}, trial.Test{
		ID: "reinvocation.inTree", Source: dynamic + "Reinvocation policy", Cost: time.Second,
		Promise: "Built-in mutating admission plugins are re-run if a mutating webhook modifies an object: the container that a webhook adds has the defaults of a LimitRange.",
		Run: func(t *trial.T) {
			t.Create(limitRanges, t.Object(limitRanges, "cpu").With("spec.limits", []any{trial.Object{"type": "Container", "default": trial.Object{"cpu": "250m"}}})).OK()
			t.Create(trial.ServiceAccounts, t.Object(trial.ServiceAccounts, "conformance")).OK()
			o := t.Object(trial.Pods, "a").With("spec", template())
			t.Eventually("the LimitRange is in effect", 20*time.Second, func() string {
				a := t.Create(trial.Pods, o, "dryRun=All").OK()
				if a.Objects("spec.containers")[0].At("resources.limits.cpu") == "250m" {
					return ""
				}
				return "the container has no limit"
			})
			t.Install(trial.Mutating("adds", trial.Patch(trial.Add("/spec/containers/-", trial.Object{"name": "added", "image": "conformance.invalid/added"})), trial.On("CREATE", trial.Pods)))
			containers := t.Create(trial.Pods, o, "dryRun=All").OK().Objects("spec.containers")
			if t.True(len(containers) == 2, "two containers", fmt.Sprint(len(containers))) {
				t.Equal("the limit of the container that the webhook adds", "250m", containers[1].At("resources.limits.cpu"))
			}
			t.Called("adds")
		},
	})
}

// onlyWithout returns a reply that appends a letter to data.trail if the letter isn't there yet. A second call changes
// nothing, as the documentation recommends.
func onlyWithout(letter string) trial.Reply {
	return trial.Answering(func(c *trial.Call) trial.Response {
		trail := c.Request().Text("object.data.trail")
		if strings.Contains(trail, letter) {
			return trial.Response{"allowed": true}
		}
		return trial.Patched(trial.Add("/data/trail", trail+letter))
	})
}
