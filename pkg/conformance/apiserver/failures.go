package apiserver

import (
	"net/http"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
	"github.com/miniapi-dev/miniapi/pkg/conformance/listener"
)

// failing is a way in which the calls of a webhook fail.
type failing struct {
	name, because string
	// hook returns a change of the webhook that makes its calls fail.
	hook func(*trial.T) trial.Change
}

// replying returns a change that gives the webhook a reply.
func replying(reply trial.Reply) func(*trial.T) trial.Change {
	return func(*trial.T) trial.Change { return trial.Replying(reply) }
}

var failingWays = []failing{
	{"code500", "an answer with the HTTP status code 500", replying(trial.Raw(http.StatusInternalServerError, trial.Object{"kind": "AdmissionReview"}))},
	{"code404", "an answer with the HTTP status code 404", replying(trial.Raw(http.StatusNotFound, trial.Object{}))},
	{"noJSON", "an answer that is no JSON", replying(trial.Raw(http.StatusOK, []byte("<html>fine</html>")))},
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
		other, err := listener.OtherAuthority()
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
		ID: "failure.ignored.next", Source: dynamic + "Failure policy", Promise: "After an error that is ignored, the other webhooks are called as usual.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Raw(500, []byte{}), trial.Fails(admissionregistrationv1.Ignore)),
				trial.Mutating("b", trial.Patch(trial.Add("/data/b", "yes"))), trial.Validating("c", trial.Raw(500, []byte{}), trial.Fails(admissionregistrationv1.Ignore)))
			t.Equal("data", trial.Object{"b": "yes", "key": "value"}, t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK().At("data"))
			t.Called("a", "b", "c")
		},
	},
	{
		ID: "failure.ignoreIsNoPardon", Source: dynamic + "Failure policy", Promise: "Ignore is about errors of calls: a refusal by the webhook refuses the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Deny(http.StatusTeapot, "still no"), trial.Fails(admissionregistrationv1.Ignore)))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot, "still no")
		},
	},
	{
		ID: "failure.once", Source: dynamic + "Failure policy", Promise: "A call that fails isn't repeated.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Raw(500, []byte{})))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
			t.Called("hook")
		},
	},
})

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
				t.Install(pairOf(trial.Allow(), way.hook(t), trial.Fails(admissionregistrationv1.Ignore))...)
				t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
				t.Get(trial.ConfigMaps, "a").OK()
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
				on := trial.ConfigMaps
				if hook.Short == "validating" {
					on = trial.Secrets
				}
				trial.On("CREATE", on)(hook)
				t.Install(hook)
				a := t.Create(on, t.Object(on, "a"))
				refusedByFailure(t, a)
				between(t, a.Took, time.Second, time.Second+slack)
			}
		},
	},
	{
		ID: "timeout.ignore", Source: dynamic + "Timeouts", Cost: 2 * time.Second,
		Promise: "If the timeout expires before the webhook responds, the webhook call is ignored under the failure policy Ignore: not before, and soon after.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", t.Hang(), trial.Within(1), trial.Fails(admissionregistrationv1.Ignore)))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			a.OK()
			between(t, a.Took, time.Second, time.Second+slack)
		},
	},
	{
		ID: "timeout.each", Source: dynamic + "Timeouts", Cost: 3 * time.Second,
		Promise: "timeoutSeconds applies to each webhook: two mutating webhooks that hang delay the request by two timeouts.",
		Run: func(t *trial.T) {
			ignore := trial.Fails(admissionregistrationv1.Ignore)
			t.Install(trial.Mutating("a", t.Hang(), trial.Within(1), ignore), trial.Mutating("b", t.Hang(), trial.Within(1), ignore))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			a.OK()
			between(t, a.Took, 2*time.Second, 2*time.Second+slack)
			t.Called("a", "b")
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
		Promise: "The call's url has the parameter timeout, with the time that is left.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("mutating", trial.Allow(), trial.Within(7)), trial.Validating("validating", trial.Allow(), trial.Within(8)))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			for hook, seconds := range map[string]string{"mutating": "7s", "validating": "8s"} {
				for _, call := range t.Calls(hook) {
					t.Equal("the query of the call of "+hook, "timeout="+seconds, call.Query)
				}
			}
			t.Called("mutating", "validating")
		},
	},
	{
		ID: "timeout.cancelled", Source: dynamic + "Timeouts", Cost: 2 * time.Second,
		Promise: "When the timeout expires, the server ends its call.",
		Run: func(t *trial.T) {
			ended := make(chan struct{})
			t.Install(trial.Validating("hook", func(_ http.ResponseWriter, r *http.Request, _ *trial.Call) {
				listener.Hang(t.Context(), r)
				close(ended)
			}, trial.Within(1)))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
			select {
			case <-ended:
			case <-time.After(slack):
				t.Fail("the call ends with its timeout", "the webhook still has the call "+slack.String()+" later")
			}
		},
	},
}

func between(t *trial.T, took, least, most time.Duration) {
	t.True(took >= least && took <= most, "the answer comes after "+least.String()+" and before "+most.String(), "it came after "+took.String())
}
