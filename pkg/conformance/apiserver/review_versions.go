package apiserver

import (
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// versions has the cases about the version of the AdmissionReview.
var versions = []trial.Test{
	{
		ID: "version.v1", Source: dynamic + "Request", Promise: "A webhook that accepts v1 is sent v1.",
		Run: sentVersion("admission.k8s.io/v1", "v1"),
	},
	{
		ID: "version.v1beta1", Source: dynamic + "Request", Promise: "A webhook that accepts v1beta1 is sent v1beta1.",
		Needs: []trial.Need{}, Run: sentVersion("admission.k8s.io/v1beta1", "v1beta1"),
	},
	{
		ID: "version.firstWins", Source: dynamic + "Request",
		Promise: "API servers send the first AdmissionReview version in the admissionReviewVersions list they support: v1 before v1beta1.",
		Run:     sentVersion("admission.k8s.io/v1", "v1", "v1beta1"),
	},
	{
		ID: "version.firstWins.older", Source: dynamic + "Request",
		Promise: "API servers send the first AdmissionReview version in the admissionReviewVersions list they support: v1beta1 before v1.",
		Run:     sentVersion("admission.k8s.io/v1beta1", "v1beta1", "v1"),
	},
	{
		ID: "version.unknownSkipped", Source: dynamic + "Request",
		Promise: "Versions of the list that the API server doesn't support are passed over.",
		Run:     sentVersion("admission.k8s.io/v1beta1", "v999", "v1beta1", "v1"),
	},
	{
		ID: "version.noneSupported", Source: dynamic + "Request",
		Promise: "If none of the versions in the list are supported by the API server, the configuration will not be allowed to be created.",
		Run: func(t *trial.T) {
			r, o := t.Configuration("hook", trial.Validating("hook", trial.Allow(), trial.Reviews("v999")))
			t.Create(r, o).Refused(http.StatusUnprocessableEntity, "admissionReviewVersions")
		},
	},
	{
		ID: "version.required", Source: dynamic + "Request",
		Promise: "admissionReviewVersions is a required field when creating admissionregistration.k8s.io/v1 webhook configurations.",
		Run: func(t *trial.T) {
			r, o := t.Configuration("hook", trial.Mutating("hook", trial.Allow(), trial.Reviews()))
			t.Create(r, o).Refused(http.StatusUnprocessableEntity, "admissionReviewVersions")
		},
	},
	{
		ID: "version.answeredInAnother", Source: kep492 + "AdmissionReview v1",
		Promise: "A webhook must respond with the same apiVersion of the AdmissionReview it received: another one is a failure of the call.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Review(func(c *trial.Call) any {
				return trial.Object{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "response": trial.Object{"uid": c.Request()["uid"], "allowed": true}}
			})))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
		},
	},
	{
		ID: "version.v1beta1.content", Source: kep492 + "AdmissionReview v1",
		Promise: "v1 is v1beta1 with no change to the API object definition: both versions have the same fields.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("old", trial.Allow(), trial.Reviews("v1beta1")), trial.Validating("new", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			older, newer := t.Calls("old"), t.Calls("new")
			if len(older) != 1 || len(newer) != 1 {
				t.Called("old", "new")
				return
			}
			t.Equal("the request of v1beta1", newer[0].Request().Without("uid"), older[0].Request().Without("uid"))
		},
	},
	{
		ID: "version.v1beta1.response", Source: dynamic + "Response",
		Promise: "Responses of version v1beta1 refuse, patch and warn as those of v1 do.",
		Run: func(t *trial.T) {
			t.Install(
				trial.Mutating("patches", trial.Patch(trial.Add("/data/patched", "yes")), trial.On("CREATE", trial.ConfigMaps), trial.Reviews("v1beta1")),
				trial.Validating("warns", trial.Warn("mind this"), trial.On("CREATE", trial.ConfigMaps), trial.Reviews("v1beta1")),
				trial.Validating("denies", trial.Deny(http.StatusTeapot, "not that"), trial.On("UPDATE", trial.ConfigMaps), trial.Reviews("v1beta1")))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"))
			t.Equal("data.patched", "yes", a.OK().At("data.patched"))
			warned(t, a, "mind this")
			t.Update(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot, "not that")
		},
	},
	{
		ID: "version.v1beta1.bare", Source: reference + "AdmissionReview",
		Promise: "A response of version v1beta1 may lack apiVersion, kind, uid and patchType; the patch of a validating webhook is ignored.",
		Run: func(t *trial.T) {
			bare := func(key string) trial.Reply {
				return trial.Review(func(*trial.Call) any {
					return trial.Object{"response": trial.Object{"allowed": true, "patch": trial.Patched(trial.Add("/data/"+key, "yes"))["patch"]}}
				})
			}
			t.Install(trial.Mutating("mutating", bare("mutated"), trial.Reviews("v1beta1")), trial.Validating("validating", bare("validated"), trial.Reviews("v1beta1")))
			t.Equal("data", trial.Object{"key": "value", "mutated": "yes"}, t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()["data"])
		},
	},
}

// sentVersion returns a case in which both kinds of webhooks accept the versions in accepted, and must get reviews of
// the version want.
func sentVersion(want string, accepted ...string) func(*trial.T) {
	return func(t *trial.T) {
		t.Install(trial.Mutating("mutating", trial.Allow(), trial.Reviews(accepted...)), trial.Validating("validating", trial.Allow(), trial.Reviews(accepted...)))
		t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
		for _, call := range t.Calls() {
			t.Equal("the version that "+call.Hook+" is sent", want, call.Review["apiVersion"])
		}
		t.Called("mutating", "validating")
	}
}
