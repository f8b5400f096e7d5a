package apiserver

import (
	"fmt"
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// conversions has the cases about webhooks that convert custom resources.
var conversions = conversionTests()

func conversionTests() []trial.Test {
	tests := []trial.Test{
		{
			ID: "conversion.request", Promise: "A conversion webhook is sent a ConversionReview with a uid, desiredAPIVersion and the objects to convert.",
			Run: func(t *trial.T) {
				v1, v2 := defineConverted(t, convert(nil))
				t.Create(v2, t.Object(v2, "a").With("spec", trial.Object{"size": 1})).OK()
				found := false
				for _, call := range t.Calls() {
					t.Equal("kind", "ConversionReview", call.Review["kind"])
					t.Equal("apiVersion", "apiextensions.k8s.io/v1", call.Review["apiVersion"])
					r := call.Request()
					t.True(r.Text("uid") != "", "a uid", "none")
					if r.At("desiredAPIVersion") == v1.GroupVersion() {
						found = true
						for _, o := range r.Objects("objects") {
							t.Equal("the version of the object to convert", v2.GroupVersion(), o["apiVersion"])
							t.Equal("its name", "a", o.Name())
						}
					}
				}
				t.True(found, "a review with the desiredAPIVersion "+v1.GroupVersion(), fmt.Sprintf("%d other reviews", len(t.Calls())))
			},
		},
		{
			ID: "conversion.stored", Promise: "An object is stored in the storage version, and returned in the version of the request.",
			Run: func(t *trial.T) {
				v1, v2 := defineConverted(t, convert(nil))
				o := t.Create(v2, t.Object(v2, "a")).OK()
				t.Equal("apiVersion of the answer", v2.GroupVersion(), o["apiVersion"])
				t.Equal("the note of the conversion", "converted to v2", o.Annotation("note"))
				o = t.Get(v1, "a").OK()
				t.Equal("apiVersion as v1", v1.GroupVersion(), o["apiVersion"])
			},
		},
		{
			ID: "conversion.list", Promise: "The objects of a list are converted, each to the version of the request.",
			Run: func(t *trial.T) {
				v1, v2 := defineConverted(t, convert(nil))
				for _, name := range []string{"a", "b", "c"} {
					t.Create(v1, t.Object(v1, name)).OK()
				}
				items := t.List(v2).OK().Objects("items")
				t.Equal("items", 3, len(items))
				for _, o := range items {
					t.Equal("apiVersion of "+o.Name(), v2.GroupVersion(), o["apiVersion"])
				}
			},
		},
		{
			ID: "conversion.fails", Promise: "A failed conversion refuses the request, with the webhook's message.",
			Run: func(t *trial.T) {
				_, v2 := defineConverted(t, convert(func(r trial.Object) {
					r["result"] = trial.Object{"status": "Failed", "message": "that has no equal"}
					delete(r, "convertedObjects")
				}))
				a := t.Create(v2, t.Object(v2, "a"))
				t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code))
				t.Contains("the message", "that has no equal", a.Object.Text("message"))
			},
		},
		{
			ID: "conversion.uid", Promise: "The response must have the uid of the request.",
			Run: failedConversion(func(r trial.Object) { r["uid"] = "another" }),
		},
		{
			ID: "conversion.count", Promise: "The response must have as many objects as the request.",
			Run: failedConversion(func(r trial.Object) { r["convertedObjects"] = []any{} }),
		},
		{
			ID: "conversion.version", Promise: "The objects of the response must have the desired version.",
			Run: failedConversion(func(r trial.Object) {
				for _, o := range r.Objects("convertedObjects") {
					o["apiVersion"] = "conformance.invalid/v9"
				}
			}),
		},
		{
			ID: "conversion.name", Promise: "A conversion webhook must not change metadata other than labels and annotations: a changed name fails the request.",
			Run: failedConversion(func(r trial.Object) {
				for _, o := range r.Objects("convertedObjects") {
					o.Sub("metadata")["name"] = "renamed"
				}
			}),
		},
		{
			ID: "conversion.closed", Promise: "If the call of a conversion webhook fails, the request fails.",
			Run: func(t *trial.T) {
				_, v2 := defineConverted(t, trial.Raw(http.StatusInternalServerError, []byte("broken")))
				a := t.Create(v2, t.Object(v2, "a"))
				t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code))
			},
		},
		{
			ID: "conversion.beforeAdmission", Promise: "An admission webhook for another version of a custom resource is sent the object that the conversion webhook has converted.",
			Run: func(t *trial.T) {
				v1, v2 := defineConverted(t, convert(nil))
				t.Install(trial.Validating("hook", trial.Allow(), trial.On("CREATE", v1)))
				t.Create(v2, t.Object(v2, "a")).OK()
				r := t.One("hook")
				t.Equal("object.apiVersion", v1.GroupVersion(), r.At("object.apiVersion"))
				t.Equal("the note of the conversion", "converted to v1", r.Sub("object").Annotation("note"))
			},
		},
	}
	for i := range tests {
		tests[i].Source = crdVersions + "Webhook conversion"
		tests[i].Needs = []trial.Need{trial.Serves(trial.Definitions)}
	}
	return tests
}

// failedConversion returns a case in which the conversion webhook sends a wrong response. The server must not accept
// it.
func failedConversion(wrong func(trial.Object)) func(*trial.T) {
	return func(t *trial.T) {
		_, v2 := defineConverted(t, convert(wrong))
		a := t.Create(v2, t.Object(v2, "a"))
		t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code))
	}
}

// defineConverted defines a custom resource with two versions and a conversion webhook.
func defineConverted(t *trial.T, reply trial.Reply) (v1, v2 trial.Resource) {
	client := t.ClientConfig(trial.Mutating("conversion", reply))
	return define(t, "things", func(o trial.Object) trial.Object {
		return o.With("spec.conversion", trial.Object{"strategy": "Webhook", "webhook": trial.Object{
			"clientConfig": client, "conversionReviewVersions": []string{"v1"}}})
	})
}

// convert returns a reply that converts objects to the requested version. An annotation of each object names this
// version. The function change, if set, changes the response.
func convert(change func(response trial.Object)) trial.Reply {
	return trial.Review(func(c *trial.Call) any {
		r := c.Request()
		version := r.Text("desiredAPIVersion")
		converted := []any{}
		for _, o := range r.Objects("objects") {
			converted = append(converted, o.With("apiVersion", version).With("metadata.annotations", trial.Object{"note": "converted to " + version[len(version)-2:]}))
		}
		response := trial.Object{"uid": r["uid"], "result": trial.Object{"status": "Success"}, "convertedObjects": converted}.Copy()
		if change != nil {
			change(response)
		}
		return trial.Object{"apiVersion": c.Review["apiVersion"], "kind": "ConversionReview", "response": response}
	})
}
