package apiserver

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// responses has the cases about the responses of webhooks, and about the answers that clients then get.
var responses = []trial.Test{
	{
		ID: "response.allowed", Source: dynamic + "Response", Promise: "A response with uid and allowed true allows the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("mutating", trial.Allow()), trial.Validating("validating", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Get(trial.ConfigMaps, "a").OK()
			t.Called("mutating", "validating")
		},
	},
	{
		ID: "response.denied.minimal", Source: dynamic + "Response",
		Promise: "A response with uid and allowed false refuses the request, and nothing is stored.",
		Run: func(t *trial.T) {
			for _, hook := range pairOf(trial.Always(trial.Response{"allowed": false})) {
				t.Install(hook)
			}
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			t.True(a.Code >= 400 && a.Code < 500, "a code from 400 to 499", fmt.Sprint(a.Code))
			t.Contains("the message", "mutating.conformance.miniapi.dev", a.Object.Text("message"))
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID: "response.denied.status", Source: dynamic + "Response", Promise: "The code and message of status are returned to the user.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Deny(http.StatusTeapot, "because it is Tuesday")))
			status := t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot, "because it is Tuesday", "hook.conformance.miniapi.dev")
			t.Equal("kind", "Status", status["kind"])
			t.Equal("status", "Failure", status["status"])
			t.Equal("code", http.StatusTeapot, status["code"])
		},
	},
	{
		ID: "response.denied.reason", Source: dynamic + "Response",
		Promise: "The specified status object is returned to the user, with reason and details.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{"allowed": false, "status": trial.Object{
				"code": http.StatusConflict, "reason": "Conflict", "message": "taken",
				"details": trial.Object{"causes": []any{trial.Object{"reason": "Taken", "field": "data.key", "message": "by another"}}},
			}})))
			status := t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusConflict, "taken")
			t.Equal("reason", "Conflict", status["reason"])
			t.Equal("details.causes", []any{trial.Object{"reason": "Taken", "field": "data.key", "message": "by another"}}, status.At("details.causes"))
		},
	},
	{
		ID: "response.denied.noSuccess", Source: dynamic + "Response",
		Promise: "A refusal never looks like a success, whatever its status says.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{"allowed": false, "status": trial.Object{"code": 200, "status": "Success", "message": "fine"}})))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			t.True(a.Code >= 400, "a code of 400 or more", fmt.Sprint(a.Code))
			t.Equal("status", "Failure", a.Object["status"])
		},
	},
	{
		ID: "response.denied.absent", Source: dynamic + "Response", Promise: "A response without allowed refuses the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{})))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code))
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID: "response.large", Source: dynamic + "Response", Promise: "A response may be larger than the objects that the server stores.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{"allowed": true, "auditAnnotations": trial.Object{"large": strings.Repeat("x", 4<<20)}})))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
		},
	},
	{
		ID: "response.patch.tooLarge", Source: dynamic + "Response",
		Promise: "A patch that makes the object too large refuses the request as invalid.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/data/large", strings.Repeat("x", 1<<20)))))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).Refused(http.StatusUnprocessableEntity, "Too long")
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID: "response.denied.mutating", Source: dynamic + "Response",
		Promise: "A mutating webhook can refuse a request too; later webhooks aren't called then.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("a", trial.Deny(http.StatusTeapot, "not that")), trial.Mutating("b", trial.Allow()), trial.Validating("c", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).Refused(http.StatusTeapot, "not that")
			t.Called("a")
		},
	},
	{
		ID: "response.denied.patchIgnored", Source: dynamic + "Response",
		Promise: "A patch changes the object when allowing a request; it doesn't turn a refusal into a success.",
		Run: func(t *trial.T) {
			response := trial.Patched(trial.Add("/data/patched", "yes"))
			response["allowed"] = false
			t.Install(trial.Mutating("hook", trial.Always(response)))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"))
			t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code))
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID: "response.denied.delete", Source: dynamic + "Response", Promise: "A refused DELETE leaves the object as it is.",
		Run: func(t *trial.T) {
			before := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(trial.Validating("hook", trial.Deny(http.StatusForbidden, "it stays"), trial.On("DELETE", trial.ConfigMaps)))
			t.Delete(trial.ConfigMaps, "a", nil).Refused(http.StatusForbidden, "it stays")
			t.Equal("the object", before, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID: "response.denied.update", Source: dynamic + "Response", Promise: "A refused UPDATE leaves the object as it is.",
		Run: func(t *trial.T) {
			before := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(trial.Validating("hook", trial.Deny(http.StatusForbidden, "no change"), trial.On("UPDATE", trial.ConfigMaps)))
			t.Update(trial.ConfigMaps, before.With("data.key", "new")).Refused(http.StatusForbidden, "no change")
			t.Equal("the object", before, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID: "response.patch", Source: dynamic + "Response",
		Promise: "A base64-encoded JSON patch of a mutating webhook changes the object: operations add, replace and remove are applied in order.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/data/added", "yes"), trial.Op{Op: "replace", Path: "/data/key", Value: "new"}, trial.Op{Op: "remove", Path: "/data/old"})))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value", "old", "value")).OK()
			t.Equal("data", trial.Object{"added": "yes", "key": "new"}, t.Get(trial.ConfigMaps, "a").OK().At("data"))
		},
	},
	{
		ID: "response.patch.inAnswer", Source: dynamic + "Response", Promise: "The answer to the client has the changes of webhooks.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/data/added", "yes"))))
			t.Equal("data", trial.Object{"added": "yes", "key": "value"}, t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK().At("data"))
		},
	},
	{
		ID: "response.patch.defaults", Source: kep492 + "Mutating Plugin ordering",
		Promise: "What a patch adds gets the defaults of its version, before the next webhook sees it.",
		Run: func(t *trial.T) {
			on := trial.On("CREATE", trial.Services)
			t.Install(trial.Mutating("adds", trial.Patch(trial.Add("/spec/ports/-", trial.Object{"name": "second", "port": 81})), on),
				trial.Mutating("then", trial.Allow(), on), trial.Validating("validates", trial.Allow(), on))
			o := t.Object(trial.Services, "web").With("spec.ports", []any{trial.Object{"name": "first", "port": 80}})
			seen := map[string]trial.Object{"the answer": t.Create(trial.Services, o).OK()}
			for _, call := range t.Calls("then", "validates") {
				seen["the review by "+call.Hook] = call.Request().Sub("object")
			}
			t.Called("adds", "then", "validates")
			for where, service := range seen {
				ports := service.Objects("spec.ports")
				if t.True(len(ports) == 2, "two ports in "+where, fmt.Sprint(len(ports))) {
					t.Equal("protocol of the port that the patch adds, in "+where, "TCP", ports[1]["protocol"])
				}
			}
		},
	},
	{
		ID: "response.patch.delete", Source: dynamic + "Response",
		Promise: "A DELETE has no object that a patch could change: such a response refuses the request, under any failure policy.",
		Run: func(t *trial.T) {
			before := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/data/added", "yes")), trial.Fails(admissionregistrationv1.Ignore)))
			t.Delete(trial.ConfigMaps, "a", nil).Refused(http.StatusInternalServerError, "hook.conformance.miniapi.dev")
			t.Equal("the object", before, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID: "response.patch.fails", Source: dynamic + "Response", Promise: "A patch that doesn't apply refuses the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Patch(trial.Op{Op: "test", Path: "/data/key", Value: "other"}, trial.Add("/data/added", "yes"))))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"))
			t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code))
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID: "response.patch.noType", Source: reference + "AdmissionResponse",
		Promise: "A patch without patchType is a failure of the call.",
		Run: func(t *trial.T) {
			response := trial.Patched(trial.Add("/data/added", "yes"))
			delete(response, "patchType")
			t.Install(trial.Mutating("hook", trial.Always(response)))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")))
		},
	},
	{
		ID: "response.patch.otherType", Source: dynamic + "Response", Promise: "The only currently supported patchType is JSONPatch.",
		Run: func(t *trial.T) {
			response := trial.Patched(trial.Add("/data/added", "yes"))
			response["patchType"] = "MergePatch"
			t.Install(trial.Mutating("hook", trial.Always(response)))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")))
		},
	},
	{
		ID: "response.patch.malformed", Source: dynamic + "Response",
		Promise: "A patch that is no array of operations refuses the request.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Always(trial.Response{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(`{"op":"add"}`))})))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a"))
			t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code))
		},
	},
	{
		ID: "response.patch.validating", Source: dynamic + "Response",
		Promise: "Only a mutating webhook may modify the object: a patch of a validating webhook never does.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Patch(trial.Add("/data/added", "yes"))))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"))
			if a.Succeeded() {
				t.Equal("data", trial.Object{"key": "value"}, t.Get(trial.ConfigMaps, "a").OK().At("data"))
			}
		},
	},
	{
		ID: "response.patch.metadata", Source: dynamic + "Response", Promise: "A patch may add labels and annotations.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/metadata/labels/added", "yes"), trial.Add("/metadata/annotations", trial.Object{"note": "text"}))))
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Equal("the label", "yes", o.Label("added"))
			t.Equal("the annotation", "text", o.Annotation("note"))
		},
	},
	{
		ID: "response.patch.scale", Source: dynamic + "Response", Promise: "A patch of a Scale changes the scaled object.",
		Run: func(t *trial.T) {
			t.Create(trial.Deployments, deployment(t, "web")).OK()
			scale := trial.Deployments.Sub("scale")
			t.Install(trial.Mutating("hook", trial.Patch(trial.Op{Op: "replace", Path: "/spec/replicas", Value: 0}), trial.On("UPDATE", scale)))
			o := t.Get(scale, "web").OK()
			t.Equal("spec.replicas in the answer", nil, emptyZero(t.Update(scale, o.With("spec.replicas", 5)).OK().At("spec.replicas")))
			t.Equal("spec.replicas of the Deployment", 0, t.Get(trial.Deployments, "web").OK().At("spec.replicas"))
		},
	},
	{
		ID: "response.uid.wrong", Source: dynamic + "Response",
		Promise: "The response must have the uid of the request: another uid is a failure of the call.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{"allowed": true, "uid": "another"})))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
		},
	},
	{
		ID: "response.uid.missing", Source: dynamic + "Response", Promise: "The response must have a uid.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Always(trial.Response{"allowed": true, "uid": ""})))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
		},
	},
	{
		ID: "response.kind.wrong", Source: dynamic + "Response",
		Promise: "The body of a response is an AdmissionReview: another kind is a failure of the call.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Review(func(c *trial.Call) any {
				return trial.Object{"apiVersion": "admission.k8s.io/v1", "kind": "Something", "response": trial.Object{"uid": c.Request()["uid"], "allowed": true}}
			})))
			refusedByFailure(t, t.Create(trial.ConfigMaps, t.ConfigMap("a")))
		},
	},
	{
		ID: "response.unknownFields", Source: reference + "AdmissionResponse",
		Promise: "Fields of a response that the server doesn't know are no failure.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Always(trial.Response{"allowed": true, "unheardOf": trial.Object{"a": 1}})))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Called("hook")
		},
	},
}

// pairOf returns a mutating and a validating webhook with the same reply.
func pairOf(reply trial.Reply, changes ...trial.Change) []*trial.Hook {
	return []*trial.Hook{trial.Mutating("mutating", reply, changes...), trial.Validating("validating", reply, changes...)}
}

// installApart installs one webhook of a pair for creates of a resource, and returns the resource. A mutating webhook
// gets ConfigMaps and a validating webhook gets Secrets, so a request calls only one of them.
func installApart(t *trial.T, hook *trial.Hook) trial.Resource {
	on := trial.ConfigMaps
	if hook.Short == "validating" {
		on = trial.Secrets
	}
	trial.On("CREATE", on)(hook)
	t.Install(hook)
	return on
}

// emptyZero returns nil for the number 0, because the server leaves out a field with the value 0.
func emptyZero(value any) any {
	if value == 0.0 {
		return nil
	}
	return value
}

// refusedByFailure checks that the answer is a refusal because of a failed call of a webhook.
func refusedByFailure(t *trial.T, a *trial.Answer) {
	a.Refused(http.StatusInternalServerError, "failed calling webhook")
}
