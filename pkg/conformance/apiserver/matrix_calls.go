package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

// callPromises has the rows of the matrix about the calls of webhooks and what servers report about them.
var callPromises = []crossPromise{
	{
		name:   "order",
		says:   "Mutating webhooks are called one after the other, in the order of their names and each with the changes of those before it; then validating ones see what is stored",
		source: chain + "Requirements for extensible admission",
		check: func(c *cell) {
			before := c.prepare()
			c.Install(c.validating("a", trial.Allow()), c.mutating("c", c.adds("2")), c.mutating("b", c.adds("1")))
			c.passed(c.send(), before)
			c.trails(c.calledEach("b", "c", "a"), "", "1", "12")
			c.stores("12")
		},
	},
	{
		name:   "refused",
		says:   "If a webhook refuses the request, the request has no effect; after the refusal of a mutating webhook, no other webhook is called",
		source: dynamic + "Response",
		check: func(c *cell) {
			c.stopping(trial.Deny(http.StatusTeapot, "not that"), func(a *trial.Answer, name string) { a.Refused(http.StatusTeapot, name, "not that") })
		},
	},
	{
		name:   "fail",
		says:   "Under the failure policy Fail, a failed call refuses the request: it has no effect, and after a mutating webhook no other webhook is called",
		source: dynamic + "Failure policy",
		check: func(c *cell) {
			c.stopping(trial.Raw(http.StatusInternalServerError, []byte{}), func(a *trial.Answer, name string) {
				a.Refused(http.StatusInternalServerError, "failed calling webhook", name)
			})
		},
	},
	{
		name:   "ignore",
		says:   "Under the failure policy Ignore, a failed call is ignored: the request goes on with the changes of the other webhooks",
		source: dynamic + "Failure policy",
		check: func(c *cell) {
			fails := trial.Raw(http.StatusInternalServerError, []byte{})
			before := c.prepare()
			c.Install(c.mutating("a", c.adds("1")), c.mutating("b", fails, trial.Fails(ignore)), c.mutating("c", c.adds("2")), c.validating("d", fails, trial.Fails(ignore)))
			c.passed(c.send(), before)
			c.trails(c.calledEach("a", "b", "c", "d"), "", "1", "1", "12")
			c.stores("12")
		},
	},
	{
		name: "timeout", says: "After timeoutSeconds, the server ends a call, and decides by the failure policy",
		source: dynamic + "Timeouts",
		check: func(c *cell) {
			before := c.alone().prepare()
			var ended atomic.Int32
			hangs := func(_ http.ResponseWriter, r *http.Request, _ *trial.Call) {
				webhookserver.Hang(c.Context(), r)
				ended.Add(1)
			}
			c.Install(c.mutating("mutating", hangs, trial.Within(1), trial.Fails(ignore)), c.validating("validating", hangs, trial.Within(1)))
			a := c.send()
			refusedByFailure(c.T, a)
			between(c.T, a.Took, 2*time.Second, 2*time.Second+slack)
			c.Eventually("both calls end", slack, func() string {
				if n := ended.Load(); n != 2 {
					return fmt.Sprintf("%d calls have ended", n)
				}
				return ""
			})
			for _, call := range c.calledEach("mutating", "validating") {
				c.Equal("the query of the call of "+call.Hook, "timeout=1s", call.Query)
			}
			c.untouched(before)
		},
	},
	{
		name: "warnings", says: "The warnings of all webhooks are in Warning headers, in the order of the calls",
		source: dynamic + "Response",
		check: func(c *cell) {
			warns := trial.Answering(func(call *trial.Call) trial.Response {
				name := call.Request().Sub("oldObject").Name()
				return trial.Response{"allowed": true, "warnings": []string{call.Hook + " about " + name, call.Hook + " again about " + name}}
			})
			before := c.prepare()
			c.Install(c.mutating("mutating", warns), c.validating("validating", warns))
			a := c.send()
			c.passed(a, before)
			c.calledEach("mutating", "validating")
			want := []string{}
			for i := range c.names {
				for _, hook := range []string{"mutating", "validating"} {
					name := ""
					if c.hasOld() {
						name = c.old[i].Name()
					}
					want = append(want, fmt.Sprintf(`299 - "%s about %s"`, hook, name), fmt.Sprintf(`299 - "%s again about %s"`, hook, name))
				}
			}
			c.Equal("the Warning headers", want, slices.DeleteFunc(a.Warnings(), func(text string) bool { return !strings.Contains(text, " about ") }))
		},
	},
	{
		name:   "audit",
		says:   "The audit event has an annotation for each call of a mutating webhook with its patch, for each failed call that is ignored, and the annotations of responses",
		source: dynamic + "Mutating webhook auditing annotations", needs: []trial.Need{trial.AuditLog},
		check: func(c *cell) {
			seen := func(response trial.Response) trial.Response {
				response["auditAnnotations"] = trial.Object{"seen": "today"}
				return response
			}
			before := c.alone().prepare()
			fails := trial.Raw(http.StatusInternalServerError, []byte{})
			c.Install(c.mutating("a", trial.Always(seen(trial.Response{"allowed": true})), trial.Reinvoked(ifNeeded)),
				c.mutating("b", trial.Answering(func(call *trial.Call) trial.Response { return seen(c.added(call, "1")) })),
				c.mutating("c", fails, trial.Fails(ignore)), c.validating("d", trial.Always(seen(trial.Response{"allowed": true}))), c.validating("e", fails, trial.Fails(ignore)))
			a := c.send()
			c.passed(a, before)
			mutation := func(round int, hook string, mutated bool) string {
				return annotation(fmt.Sprintf("mutation.webhook.admission.k8s.io/round_%d", round), trial.Object{"configuration": c.Name(hook), "webhook": hook + ".conformance.miniapi.dev", "mutated": mutated})
			}
			want := []string{
				mutation(0, "a", false), mutation(0, "b", c.sends != nil), mutation(0, "c", false),
				"a.conformance.miniapi.dev/seen: today", "b.conformance.miniapi.dev/seen: today", "d.conformance.miniapi.dev/seen: today",
				"failed-open.mutation.webhook.admission.k8s.io/round_0: c.conformance.miniapi.dev",
				"failed-open.validating.webhook.admission.k8s.io/round_0: e.conformance.miniapi.dev",
			}
			if c.sends != nil {
				patch := trial.Object{"configuration": c.Name("b"), "webhook": "b.conformance.miniapi.dev", "patch": []trial.Op{c.writes(c.begin + "1")}, "patchType": "JSONPatch"}
				want = append(want, annotation("patch.webhook.admission.k8s.io/round_0", patch))
				want = append(want, mutation(1, "a", false))
			}
			annotations(c.T, a, want)
		},
	},
	{
		name:   "metrics",
		says:   "Each call is counted, with its duration, its code and the operation; so are refusals, and failures that are ignored",
		source: dynamic + "API server admission webhook rejection count", needs: []trial.Need{trial.Metrics},
		check: func(c *cell) {
			before := c.alone().prepare()
			var refusing atomic.Value
			refuses := func(w http.ResponseWriter, r *http.Request, call *trial.Call) {
				if refusing.Load() == call.Hook {
					trial.Deny(http.StatusTeapot, "no")(w, r, call)
					return
				}
				trial.Allow()(w, r, call)
			}
			fails := trial.Raw(http.StatusInternalServerError, []byte{})
			own := func(h *trial.Hook) {
				h.Name = c.Name(h.Short) + ".conformance.miniapi.dev"
				if c.target.Name == trial.ConfigMaps.Name { // controllers create a ConfigMap in each namespace
					c.Own(h)
				}
			}
			c.Install(c.mutating("a", refuses, own), c.mutating("b", fails, trial.Fails(ignore), own), c.validating("c", refuses, own), c.validating("d", fails, trial.Fails(ignore), own))
			for _, hook := range []string{"c", "a"} {
				refusing.Store(hook)
				c.send().Refused(http.StatusTeapot)
			}
			c.Install(c.validating("e", fails, own))
			refusing.Store("")
			refusedByFailure(c.T, c.send())
			c.untouched(before)
			counter := func(family, hook, step string, value int, labels ...string) string {
				labels = append(labels, fmt.Sprintf("name=%q", c.Name(hook)+".conformance.miniapi.dev"), fmt.Sprintf("type=%q", step))
				slices.Sort(labels)
				return fmt.Sprintf("apiserver_admission_webhook_%s{%s} %d", family, strings.Join(labels, ","), value)
			}
			operation := fmt.Sprintf("operation=%q", c.admitted)
			called := func(hook, step string, code int, refused bool, times int) []string {
				rejected := fmt.Sprintf(`rejected="%t"`, refused)
				return []string{
					counter("admission_duration_seconds_count", hook, step, times, operation, rejected),
					counter("request_total", hook, step, times, operation, rejected, fmt.Sprintf(`code="%d"`, code)),
				}
			}
			rejected := func(hook, step, kind string, code int) string {
				return counter("rejection_count", hook, step, 1, operation, fmt.Sprintf("error_type=%q", kind), fmt.Sprintf(`rejection_code="%d"`, code))
			}
			series(c.T, slices.Concat(
				called("a", "admit", 200, false, 2), called("a", "admit", 418, true, 1), called("b", "admit", 500, false, 2),
				called("c", "validating", 200, false, 1), called("c", "validating", 418, true, 1), called("d", "validating", 500, false, 2), called("e", "validating", 500, true, 1),
				[]string{
					rejected("a", "admit", "no_error", 418), rejected("c", "validating", "no_error", 418),
					rejected("e", "validating", "calling_webhook_error", 500),
					counter("fail_open_count", "b", "admit", 2), counter("fail_open_count", "d", "validating", 2),
				}))
		},
	},
}

// stopping checks that the request ends when a webhook gives a reply: each of two validating webhooks, and then a
// mutating one.
func (c *cell) stopping(reply trial.Reply, refused func(a *trial.Answer, webhook string)) {
	before := c.prepare()
	var stopping atomic.Value
	unless := func(other trial.Reply) trial.Reply {
		return func(w http.ResponseWriter, r *http.Request, call *trial.Call) {
			if call.Hook == stopping.Load() {
				reply(w, r, call)
				return
			}
			other(w, r, call)
		}
	}
	c.Install(c.mutating("a", unless(c.adds("1"))), c.mutating("b", unless(trial.Allow())), c.mutating("c", unless(trial.Allow())),
		c.validating("d", unless(trial.Allow())), c.validating("e", unless(trial.Allow())))
	for _, phase := range []struct {
		stopping string
		called   []string
	}{{"d", []string{"a", "b", "c", "d", "e"}}, {"e", []string{"a", "b", "c", "d", "e"}}, {"b", []string{"a", "b"}}} {
		stopping.Store(phase.stopping)
		refused(c.send(), phase.stopping+".conformance.miniapi.dev")
		c.calledInAnyOrder(phase.called...)
		c.untouched(before)
	}
}
