package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

const ifNeeded = admissionregistrationv1.IfNeededReinvocationPolicy

// appends returns a reply whose patch appends a letter to data.trail of the object.
func appends(letter string) trial.Reply {
	return trial.Answering(func(c *trial.Call) trial.Response {
		return trial.Patched(trial.Add("/data/trail", c.Request().Text("object.data.trail")+letter))
	})
}

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
			[]*trial.Hook{trial.Mutating("a", appends("a"), trial.Reinvoked(admissionregistrationv1.NeverReinvocationPolicy)), trial.Mutating("b", appends("b"))}, []string{"a", "b"}, "ab"},
		{"default", "reinvocationPolicy defaults to Never: a webhook without it is called once.",
			[]*trial.Hook{trial.Mutating("a", appends("a")), trial.Mutating("b", appends("b"))}, []string{"a", "b"}, "ab"},
		{"afterLater", "IfNeeded: the webhook is called again if the object is modified by other admission plugins after the initial webhook call.",
			[]*trial.Hook{trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b"))}, []string{"a", "b", "a"}, "b"},
		{"notWithoutChange", "No reinvocation: no webhook changes the object, so none is called again.",
			[]*trial.Hook{trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("b", trial.Allow(), trial.Reinvoked(ifNeeded))}, []string{"a", "b"}, "-"},
		{"notByOwnChange", "A webhook isn't called again because of its own change.",
			[]*trial.Hook{trial.Mutating("a", appends("a"), trial.Reinvoked(ifNeeded))}, []string{"a"}, "a"},
		{"partial", "Multiple webhooks, partial reinvocation: no mutations occurred after webhook B was called, so B isn't called again.",
			[]*trial.Hook{trial.Mutating("a", onlyWithout("a"), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b"), trial.Reinvoked(ifNeeded))}, []string{"a", "b", "a"}, "ab"},
		{"full", "Multiple webhooks, full reinvocation: webhook A mutated after webhook B was called, so both are reinvoked once, without further loops.",
			[]*trial.Hook{trial.Mutating("a", appends("a"), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b"), trial.Reinvoked(ifNeeded))}, []string{"a", "b", "a", "b"}, "abab"},
		{"onlyOptedIn", "Only the webhooks that indicate they want to be reinvoked are called again.",
			[]*trial.Hook{trial.Mutating("a", appends("a")), trial.Mutating("b", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("c", appends("c"))}, []string{"a", "b", "c", "b"}, "ac"},
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
		ID: "reinvocation.sees", Source: dynamic + "Reinvocation policy",
		Promise: "A webhook that is called again sees the changes made since its first call.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b")))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
			calls := t.Calls("a")
			if t.True(len(calls) == 2, "two calls of a", fmt.Sprint(len(calls))) {
				t.Equal("data.trail at the first call", "", calls[0].Request().At("object.data.trail"))
				t.Equal("data.trail at the second call", "b", calls[1].Request().At("object.data.trail"))
				t.True(calls[0].Request().Text("uid") != calls[1].Request().Text("uid"), "another uid for the second call", "the same one")
			}
		},
	}, trial.Test{
		ID: "reinvocation.condition", Source: dynamic + "Reinvocation policy", Needs: []trial.Need{trial.Since(30)},
		Promise: "A webhook whose conditions the changed object no longer matches isn't called again.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded), trial.When("untouched", "object.data.trail == ''")), trial.Mutating("b", appends("b")))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
			t.Called("a", "b")
		},
	}, trial.Test{
		ID: "reinvocation.update", Source: dynamic + "Reinvocation policy",
		Promise: "Webhooks are reinvoked for an UPDATE as for a CREATE.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
			t.Install(trial.Mutating("a", trial.Allow(), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b")))
			t.Update(trial.ConfigMaps, o.With("data.key", "new")).OK()
			t.Called("a", "b", "a")
		},
	}, trial.Test{
		ID: "reinvocation.inTree", Source: dynamic + "Reinvocation policy", Cost: time.Second,
		Promise: "Built-in mutating admission plugins are re-run if a mutating webhook modifies an object: the container that a webhook adds has the defaults of a LimitRange.",
		Run: func(t *trial.T) {
			ranges := trial.Resource{Version: "v1", Name: "limitranges", Kind: "LimitRange", Namespaced: true}
			t.Create(ranges, t.Object(ranges, "cpu").With("spec.limits", []any{trial.Object{"type": "Container", "default": trial.Object{"cpu": "250m"}}})).OK()
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

// warnings has the cases about the Warning headers of answers.
var warnings = []trial.Test{
	{
		ID: "warning.allowed", Source: dynamic + "Response", Promise: "Warnings of a webhook that allows the request are returned in HTTP Warning headers with a warning code of 299.",
		Run: func(t *trial.T) {
			for _, hook := range pairOf(trial.Warn("mind this", "and this")) {
				on := trial.ConfigMaps
				if hook.Short == "validating" {
					on = trial.Secrets
				}
				trial.On("CREATE", on)(hook)
				t.Install(hook)
				a := t.Create(on, t.Object(on, "a"))
				a.OK()
				warned(t, a, "mind this")
				warned(t, a, "and this")
			}
		},
	},
	{
		ID: "warning.denied", Source: dynamic + "Response", Promise: "Warnings can be sent with rejected admission responses.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{"allowed": false, "warnings": []string{"mind this"}})))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			t.True(!a.Succeeded(), "a refusal", fmt.Sprint(a.Code))
			warned(t, a, "mind this")
		},
	},
	{
		ID: "warning.all", Source: dynamic + "Response", Promise: "Warnings of all webhooks are returned.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Warn("from a")), trial.Validating("b", trial.Warn("from b")), trial.Validating("c", trial.Warn("from c")))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			for _, text := range []string{"from a", "from b", "from c"} {
				warned(t, a, text)
			}
		},
	},
	{
		ID: "warning.operations", Source: dynamic + "Response", Promise: "Warnings are returned for updates, patches and deletes too.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Install(trial.Validating("hook", trial.Warn("mind this")))
			warned(t, t.Update(trial.ConfigMaps, o.With("data.key", "new")), "mind this")
			warned(t, t.Patch(trial.ConfigMaps, "a", trial.MergePatch, trial.Object{"data": trial.Object{"key": "newer"}}), "mind this")
			warned(t, t.Delete(trial.ConfigMaps, "a", nil), "mind this")
		},
	},
	{
		ID: "warning.quoted", Source: dynamic + "Response", Promise: "The text of a warning arrives whole, with quotes and backslashes escaped.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Warn(`a "quoted" \ text`)))
			warned(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")), `a \"quoted\" \\ text`)
		},
	},
	{
		ID: "warning.long", Source: dynamic + "Response", Promise: "A warning of 256 characters arrives whole; a longer one may be truncated, but arrives.",
		Run: func(t *trial.T) {
			whole, long := strings.Repeat("w", 256), strings.Repeat("l", 1000)
			t.Install(trial.Validating("hook", trial.Warn(whole, long)))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			warned(t, a, whole)
			warned(t, a, long[:200])
		},
	},
	{
		ID: "warning.most", Source: dynamic + "Response", Promise: "If more than 4096 characters of warning messages are added, additional warning messages are ignored, and the request isn't refused.",
		Run: func(t *trial.T) {
			var many []string
			for i := range 60 {
				many = append(many, fmt.Sprintf("%02d %s", i, strings.Repeat("w", 200)))
			}
			t.Install(trial.Validating("hook", trial.Warn(many...)))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			a.OK()
			warned(t, a, many[0])
			total := 0
			for _, header := range a.Warnings() {
				total += len(header) - len(`299 - ""`)
			}
			const last = 256 // the server may send a part of the message that exceeds the limit
			t.True(total <= 4096+last, "no message after the one that exceeds 4096 characters", fmt.Sprintf("%d characters", total))
		},
	},
}

// ordering has the cases about the order of webhooks, admission plugins and validation.
var ordering = []trial.Test{
	{
		ID: "order.mutatingFirst", Source: dynamic + "What are admission webhooks?", Promise: "Mutating admission webhooks are invoked first; validating ones see the object after all modifications.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("a-validating", trial.Allow()), trial.Mutating("b-mutating", appends("b")), trial.Mutating("c-mutating", appends("c")))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
			calls := t.Calls("a-validating")
			t.Called("b-mutating", "c-mutating", "a-validating")
			if len(calls) == 1 {
				t.Equal("data.trail that the validating webhook sees", "bc", calls[0].Request().At("object.data.trail"))
			}
		},
	},
	{
		ID: "order.finalState", Source: dynamic + "Guaranteeing the final state of the object is seen", Promise: "A validating webhook sees the object that is stored.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", appends("a"), trial.Reinvoked(ifNeeded)), trial.Mutating("b", appends("b"), trial.Reinvoked(ifNeeded)), trial.Validating("c", trial.Allow()))
			stored := t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
			t.Equal("data that the validating webhook sees", stored["data"], t.One("c").At("object.data"))
		},
	},
	{
		ID: "order.validationBetween", Source: dynamic + "What are admission webhooks?", Promise: "Validating webhooks are invoked after the incoming object is validated by the API server: not for an invalid object.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("breaks", trial.Patch(trial.Add("/data", trial.Object{"not a key!": "value"}))), trial.Validating("validating", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusUnprocessableEntity, "data")
			t.Called("breaks")
		},
	},
	{
		ID: "order.validationBetween.update", Source: chain + "Update", Promise: "An update that isn't valid after all modifications is refused before validating webhooks see it, and changes nothing.",
		Run: func(t *trial.T) {
			before := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(trial.Mutating("breaks", trial.Patch(trial.Add("/data", trial.Object{"not a key!": "value"}))), trial.Validating("validating", trial.Allow()))
			t.Update(trial.ConfigMaps, before.With("data.key", "new")).Refused(http.StatusUnprocessableEntity, "data")
			t.Called("breaks")
			t.Equal("the object", before, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID: "order.systemFields", Source: chain + "Create", Promise: "Name, uid and creationTimestamp are set after mutating webhooks, and before validating webhooks, which see the stored values.",
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
			}
		},
	},
	{
		ID: "order.repairs", Source: chain + "Create", Promise: "Mutation comes before validation: a mutating webhook can make an invalid object valid.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("repairs", trial.Patch(trial.Add("/data", trial.Object{"key": "value"}))))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "not a key!", "value")).OK()
		},
	},
	{
		ID: "order.withinConfiguration", Source: reference + "MutatingWebhookConfiguration", Promise: "Mutating webhooks of a configuration are called in the order of its list, and each gets the changes of the earlier ones.",
		Run: func(t *trial.T) {
			t.InstallTogether("all", trial.Mutating("c", appends("c")), trial.Mutating("a", appends("a")), trial.Mutating("b", appends("b")))
			t.Equal("data.trail", "cab", t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK().At("data.trail"))
			t.Called("c", "a", "b")
		},
	},
	{
		ID: "order.configurations", Source: reference + "MutatingWebhookConfiguration", Promise: "Mutating configurations are called in the order of their names, and not of their creation.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("c", appends("c")), trial.Mutating("a", appends("a")), trial.Mutating("b", appends("b")))
			t.Equal("data.trail", "abc", t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK().At("data.trail"))
			t.Called("a", "b", "c")
		},
	},
	{
		ID: "order.allValidating", Source: chain + "Requirements for extensible admission", Promise: "Order does not matter for validators: all of them are called, and any of them refuses the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("a", trial.Allow()), trial.Validating("b", trial.Deny(http.StatusTeapot, "no")), trial.Validating("c", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot)
			hooks := []string{}
			for _, call := range t.Calls() {
				hooks = append(hooks, call.Hook)
			}
			t.True(slices.Contains(hooks, "b"), "a call of b", fmt.Sprint(hooks))
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
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
