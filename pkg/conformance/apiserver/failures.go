package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

// failing is a way in which the calls of a webhook fail.
type failing struct {
	name, because string
	// hook returns a change of the webhook that makes its calls fail.
	hook func(*trial.T) trial.Change
}

// replying returns a function for the field failing.hook. Its change gives the webhook a reply.
func replying(reply trial.Reply) func(*trial.T) trial.Change {
	return func(*trial.T) trial.Change { return trial.Replying(reply) }
}

var failingWays = []failing{
	{"code500", "an answer with the HTTP status code 500",
		replying(trial.Raw(http.StatusInternalServerError, trial.Object{"kind": "AdmissionReview"}))},
	{"code404", "an answer with the HTTP status code 404", replying(trial.Raw(http.StatusNotFound, trial.Object{}))},
	{"noJSON", "an answer that is no JSON", replying(trial.Raw(http.StatusOK, []byte("<html>fine</html>")))},
	{"code403", "an answer with the HTTP status code 403", replying(trial.Raw(http.StatusForbidden, trial.Object{}))},
	{"redirect", "a redirect", replying(func(w http.ResponseWriter, r *http.Request, _ *trial.Call) {
		http.Redirect(w, r, "https://conformance.invalid/", http.StatusFound)
	})},
	{"truncated", "an answer that ends early",
		replying(trial.Raw(http.StatusOK, []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","respo`)))},
	{"otherGroup", "an AdmissionReview of another API group", replying(trial.Review(func(c *trial.Call) any {
		return trial.Object{"apiVersion": "conformance.invalid/v1", "kind": "AdmissionReview", "response": trial.Object{"uid": c.Request()["uid"], "allowed": true}}
	}))},
	{"noKind", "an answer without apiVersion and kind", replying(trial.Review(func(c *trial.Call) any {
		return trial.Object{"response": trial.Object{"uid": c.Request()["uid"], "allowed": true}}
	}))},
	{"wrongType", "an answer whose field allowed isn't a boolean", replying(trial.Review(func(c *trial.Call) any {
		return trial.Object{"apiVersion": c.Review["apiVersion"], "kind": "AdmissionReview", "response": trial.Object{"uid": c.Request()["uid"], "allowed": "yes"}}
	}))},
	{"empty", "an empty answer", replying(trial.Raw(http.StatusOK, []byte{}))},
	{"noResponse", "a review without a response", replying(trial.Review(func(c *trial.Call) any {
		return trial.Object{"apiVersion": c.Review["apiVersion"], "kind": "AdmissionReview"}
	}))},
	{"closed", "a connection that the webhook closes", replying(func(http.ResponseWriter, *http.Request, *trial.Call) { trial.Abort() })},
	{"refused", "a port where nothing listens", func(*trial.T) trial.Change {
		return func(h *trial.Hook) {
			url := "https://127.0.0.1:1/"
			h.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
		}
	}},
	{"otherAuthority", "a certificate of an authority that isn't in caBundle", func(t *trial.T) trial.Change {
		other, err := webhookserver.OtherAuthority()
		if err != nil {
			t.FailNow("an authority can be made", err.Error())
		}
		return func(h *trial.Hook) {
			h.ClientConfig = t.ClientConfig(h)
			h.ClientConfig.CABundle = other
		}
	}},
	{"systemRoots", "a certificate that no system trust root has signed, without a caBundle", func(t *trial.T) trial.Change {
		return func(h *trial.Hook) {
			h.ClientConfig = t.ClientConfig(h)
			h.ClientConfig.CABundle = nil
		}
	}},
	{"otherName", "a certificate that isn't for the host of the url", func(t *trial.T) trial.Change {
		return func(h *trial.Hook) {
			h.ClientConfig = t.ClientConfig(h)
			if h.ClientConfig.URL == nil || !strings.Contains(*h.ClientConfig.URL, "//127.0.0.1:") {
				t.Skip("the webhooks have no second name: they don't listen on 127.0.0.1")
			}
			url := strings.Replace(*h.ClientConfig.URL, "127.0.0.1", "localhost", 1)
			h.ClientConfig.URL = &url
		}
	}},
}

// failures has the cases about calls that fail.
var failures = slices.Concat(failureTests(), []trial.Test{
	{
		ID: "failure.ignoreIsNoPardon", Source: dynamic + "Failure policy",
		Promise: "Ignore is about errors of calls: a refusal by the webhook refuses the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Deny(http.StatusTeapot, "still no"), trial.Fails(admissionregistrationv1.Ignore)))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot, "still no")
		},
	},
	retried(http.StatusTooManyRequests), retried(http.StatusServiceUnavailable),
	{
		ID: "failure.once", Source: dynamic + "Failure policy", Promise: "A call that fails isn't repeated.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Raw(500, []byte{})))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
			t.Called("hook")
		},
	},
})

// retried returns a case about calls that webhooks answer with a status code and the header Retry-After.
func retried(code int) trial.Test {
	return trial.Test{
		ID: fmt.Sprintf("failure.retried.code%d", code), Source: dynamic + "Failure policy", Cost: 2 * time.Second,
		Promise: fmt.Sprintf("A call that is answered with %d and the header Retry-After isn't a failure yet: the server repeats the call, with the same review.",
			code),
		Run: func(t *trial.T) {
			first := map[string]bool{}
			var mu sync.Mutex
			later := func(w http.ResponseWriter, r *http.Request, c *trial.Call) {
				mu.Lock()
				again := first[c.Hook]
				first[c.Hook] = true
				mu.Unlock()
				if again {
					trial.Allow()(w, r, c)
					return
				}
				w.Header().Set("Retry-After", "1")
				trial.Raw(code, trial.Object{})(w, r, c)
			}
			t.Install(pairOf(later)...)
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			calls := t.Calls()
			t.Called("mutating", "mutating", "validating", "validating")
			t.Equal("the repeated review", calls[0].Review, calls[1].Review)
		},
	}
}

// failureTests returns two cases for each way in which calls fail, one for each failure policy. Both kinds of webhooks
// fail in each case.
func failureTests() []trial.Test {
	var tests []trial.Test
	for _, way := range failingWays {
		tests = append(tests, trial.Test{
			ID: "failure.fail." + way.name, Source: dynamic + "Failure policy",
			Promise: "Fail means that an error calling the webhook causes the admission to fail and the API request to be rejected: " + way.because + ".",
			Run: func(t *trial.T) {
				for _, hook := range pairOf(trial.Allow(), way.hook(t), trial.Fails(admissionregistrationv1.Fail)) {
					kind := hook.Short
					on := trial.ConfigMaps
					if kind == "validating" {
						on = trial.Secrets
					}
					trial.On("CREATE", on)(hook)
					t.Install(hook)
					refusedByFailure(t, t.Create(on, t.Object(on, kind)))
					t.Get(on, kind).Refused(http.StatusNotFound)
				}
			},
		}, trial.Test{
			ID: "failure.ignore." + way.name, Source: dynamic + "Failure policy",
			Promise: "Ignore means that an error calling the webhook is ignored and the API request is allowed to continue: " + way.because + ".",
			Run: func(t *trial.T) {
				t.Install(trial.Mutating("before", appends("b")))
				t.Install(pairOf(trial.Allow(), way.hook(t), trial.Fails(admissionregistrationv1.Ignore))...)
				t.Install(trial.Mutating("then", appends("t")), trial.Validating("validates", trial.Allow()))
				t.Create(trial.ConfigMaps, t.ConfigMap("a", "trail", "")).OK()
				t.Equal("data.trail, to which the other webhooks append", "bt", t.Get(trial.ConfigMaps, "a").OK().At("data.trail"))
				t.Equal("calls of the other validating webhook", 1, len(t.Calls("validates")))
			},
		})
	}
	return tests
}

// slack is the time that a busy server may need in addition to the timeout of a call.
const slack = 5 * time.Second

// timeouts has the cases about slow webhooks.
var timeouts = []trial.Test{
	{
		ID: "timeout.fail", Source: dynamic + "Timeouts", Cost: 3 * time.Second,
		Promise: "If the timeout expires before the webhook responds, the API call is rejected under the failure policy Fail: not before, and soon after.",
		Run: func(t *trial.T) {
			for _, hook := range pairOf(t.Hang(), trial.Within(1)) {
				on := installApart(t, hook)
				a := t.Create(on, t.Object(on, "a"))
				refusedByFailure(t, a)
				t.Contains("the message of the refusal", "deadline exceeded", a.Object.Text("message"))
				between(t, a.Took, time.Second, time.Second+slack)
				t.Get(on, "a").Refused(http.StatusNotFound)
			}
		},
	},
	{
		ID: "timeout.ignore", Source: dynamic + "Timeouts", Cost: 2 * time.Second,
		Promise: "If the timeout expires before the webhook responds, the webhook call is ignored under the failure policy Ignore: not before, and soon after.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("a", t.Hang(), trial.Within(1), trial.Fails(admissionregistrationv1.Ignore)),
				trial.Validating("b", t.Hang(), trial.Within(1), trial.Fails(admissionregistrationv1.Ignore)), trial.Validating("c", trial.Allow()))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			a.OK()
			between(t, a.Took, time.Second, time.Second+slack)
			t.Equal("the hooks that are called", []string{"a", "b", "c"}, inAnyOrder(t))
		},
	},
	{
		ID: "timeout.each", Source: dynamic + "Timeouts", Cost: 3 * time.Second,
		Promise: "timeoutSeconds applies to each webhook: two mutating webhooks that hang delay the request by two timeouts.",
		Run: func(t *trial.T) {
			ignore := trial.Fails(admissionregistrationv1.Ignore)
			t.Install(trial.Mutating("a", t.Hang(), trial.Within(1), ignore), trial.Mutating("b", t.Hang(), trial.Within(1), ignore), trial.Mutating("c", trial.Allow()))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			a.OK()
			between(t, a.Took, 2*time.Second, 2*time.Second+slack)
			t.Called("a", "b", "c")
		},
	},
	{
		ID: "timeout.slowIsFine", Source: dynamic + "Timeouts", Cost: 2 * time.Second,
		Promise: "The answer of a webhook counts if it comes within the timeout, even after more than a second.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", t.After(1500*time.Millisecond, trial.Deny(http.StatusTeapot, "late")), trial.Within(15)))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot, "late")
		},
	},
	{
		ID: "timeout.parameter", Source: reference + "ValidatingWebhook",
		Promise: "The call's url has the parameter timeout, with the time that is left: that of the webhook, whose default is 10 seconds, or less if the request has less.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("seven", trial.Allow(), trial.Within(7)), trial.Mutating("ten", trial.Allow()), trial.Mutating("thirty", trial.Allow(), trial.Within(30)),
				trial.Validating("validating-seven", trial.Allow(), trial.Within(7)), trial.Validating("validating-ten", trial.Allow()), trial.Validating("validating-thirty", trial.Allow(), trial.Within(30)))
			sent := func() map[string]string {
				queries := map[string]string{}
				for _, call := range t.Calls() {
					queries[strings.TrimPrefix(call.Hook, "validating-")+" "+call.Query] = ""
				}
				t.Equal("the number of calls", 6, len(t.Calls()))
				t.Forget()
				return queries
			}
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Equal("the queries of the calls", map[string]string{"seven timeout=7s": "", "ten timeout=10s": "", "thirty timeout=30s": ""}, sent())
			t.Create(trial.ConfigMaps, t.ConfigMap("b"), "timeout=20s").OK()
			for query := range sent() {
				switch hook, seconds, _ := strings.Cut(strings.TrimSuffix(query, "s"), " timeout="); hook {
				case "thirty":
					left, err := strconv.Atoi(seconds)
					t.True(err == nil && left > 10 && left <= 20, "the time that is left of the 20 seconds of the request", query)
				case "ten":
					t.Equal("the time of the webhook", "10", seconds)
				default:
					t.Equal("the time of the webhook", "7", seconds)
				}
			}
		},
	},
	{
		ID: "timeout.request", Source: "kube-apiserver, --request-timeout", Cost: 3 * time.Second,
		Promise: "If the timeout of the request itself expires while a webhook is called, the request fails, whatever the failure policy says: not before, and soon after.",
		Run: func(t *trial.T) {
			ended := make(chan struct{}, 2)
			hangs := func(_ http.ResponseWriter, r *http.Request, _ *trial.Call) {
				webhookserver.Hang(t.Context(), r)
				ended <- struct{}{}
			}
			for _, hook := range pairOf(hangs, trial.Within(30), trial.Fails(admissionregistrationv1.Ignore)) {
				on := installApart(t, hook)
				began := time.Now()
				a, err := t.Try(trial.Request{Verb: http.MethodPost, Path: t.Path(on, ""), Query: []string{"timeout=1s"}, Body: t.Object(on, "a")})
				between(t, time.Since(began), time.Second, time.Second+slack)
				// If the server has begun its answer before the timeout, it can only close the connection: there is an
				// error, or the code 502 of a proxy.
				if err == nil {
					t.True(a.Code == http.StatusGatewayTimeout || a.Code == http.StatusBadGateway, "a refusal with code 504", fmt.Sprint(a.Code))
				}
				select {
				case <-ended:
				case <-time.After(slack):
					t.Fail("the call of the webhook ends with the request", "the webhook still has the call "+slack.String()+" later")
				}
				t.Get(on, "a").Refused(http.StatusNotFound)
			}
		},
	},
}

func between(t *trial.T, took, least, most time.Duration) {
	t.True(took >= least && took <= most, "the answer comes after "+least.String()+" and before "+most.String(), "it came after "+took.String())
}
