package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// conversions has the cases about webhooks that convert custom resources.
var conversions = conversionTests()

func conversionTests() []trial.Test {
	tests := []trial.Test{
		{
			ID:      "conversion.request",
			Promise: "A conversion webhook is sent a ConversionReview with a uid, desiredAPIVersion and the objects to convert.",
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
			ID:      "conversion.name",
			Promise: "A conversion webhook must not change metadata other than labels and annotations: a changed name fails the request.",
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
			ID:      "conversion.beforeAdmission",
			Promise: "An admission webhook for another version of a custom resource is sent the object that the conversion webhook has converted.",
			Run: func(t *trial.T) {
				v1, v2 := defineConverted(t, convert(nil))
				t.Install(trial.Validating("hook", trial.Allow(), trial.On("CREATE", v1)))
				t.Create(v2, t.Object(v2, "a")).OK()
				r := t.One("hook")
				t.Equal("object.apiVersion", v1.GroupVersion(), r.At("object.apiVersion"))
				t.Equal("the note of the conversion", "converted to v1", r.Sub("object").Annotation("note"))
			},
		},
		{
			ID:      "conversion.patchedBack",
			Promise: "The patch of an admission webhook for another version is converted back by the conversion webhook; oldObject is converted, too.",
			Run: func(t *trial.T) {
				v1, v2 := defineConverted(t, renamed)
				t.Install(trial.Mutating("hook", trial.Patch(trial.Op{Op: "replace", Path: "/spec/v1", Value: 2}), trial.On("CREATE UPDATE", v1)))
				o := t.Create(v2, t.Object(v2, "a").With("spec", trial.Object{"v2": 1})).OK()
				t.Equal("spec of the answer in v2", trial.Object{"v2": 2}, o["spec"])
				r := t.One("hook")
				t.Equal("object.spec in the review of the create", trial.Object{"v1": 1}, r.At("object.spec"))
				t.Patch(v2, "a", trial.MergePatch, trial.Object{"spec": trial.Object{"v2": 3}}).OK()
				r = t.One("hook")
				t.Equal("object.spec in the review of the patch", trial.Object{"v1": 3}, r.At("object.spec"))
				t.Equal("oldObject.spec in the review of the patch", trial.Object{"v1": 2}, r.At("oldObject.spec"))
				t.Equal("spec in v1", trial.Object{"v1": 2}, t.Get(v1, "a").OK()["spec"])
			},
		},
		{
			ID:      "conversion.beforeAdmission.fails",
			Promise: "If an object can't be converted for an admission webhook, the request fails under any failure policy, and the webhook isn't called.",
			Run: func(t *trial.T) {
				var down atomic.Bool
				v1, v2 := defineConverted(t, unless(&down, renamed))
				there := t.Create(v1, t.Object(v1, "there").With("spec", trial.Object{"v1": 1})).OK()
				t.Install(pairOf(trial.Allow(), trial.On("*", v2), trial.Fails(admissionregistrationv1.Ignore))...)
				requests := func(check func(*trial.Answer)) {
					check(t.Create(v1, t.Object(v1, "new").With("spec", trial.Object{"v1": 1}), dry))
					check(t.Patch(v1, "there", trial.MergePatch, trial.Object{"spec": trial.Object{"v1": 2}}, dry))
					check(t.Delete(v1, "there", nil, dry))
				}
				requests(func(a *trial.Answer) { a.OK() })
				t.Forget()
				down.Store(true)
				requests(func(a *trial.Answer) { t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code)) })
				t.Equal("the calls of the admission webhooks", 0, len(t.Calls("mutating", "validating")))
				t.Equal("the object", there, t.Get(v1, "there").OK())
			},
		},
	}
	tests = append(tests, conversionsDown()...)
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

// renamed is a reply that converts objects by renaming the field of the spec that has the name of the version: spec.v1
// becomes spec.v2, for example.
var renamed = trial.Review(func(c *trial.Call) any {
	r := c.Request()
	converted := []any{}
	for _, o := range r.Objects("objects") {
		from, to := lastPart(o.Text("apiVersion")), lastPart(r.Text("desiredAPIVersion"))
		o = o.With("apiVersion", r.Text("desiredAPIVersion"))
		if value := o.Sub("spec")[from]; value != nil {
			o = o.With("spec", trial.Object{to: value})
		}
		converted = append(converted, o)
	}
	return trial.Object{"apiVersion": c.Review["apiVersion"], "kind": "ConversionReview", "response": trial.Object{
		"uid": r["uid"], "result": trial.Object{"status": "Success"}, "convertedObjects": converted}}
})

func lastPart(apiVersion string) string { return apiVersion[strings.LastIndex(apiVersion, "/")+1:] }

// unless returns a reply that answers with the code 503 while down is true, and as the argument reply does otherwise.
func unless(down *atomic.Bool, reply trial.Reply) trial.Reply {
	return func(w http.ResponseWriter, r *http.Request, c *trial.Call) {
		if down.Load() {
			trial.Raw(http.StatusServiceUnavailable, []byte("down"))(w, r, c)
			return
		}
		reply(w, r, c)
	}
}

// conversionsDown has the cases about requests for a stored object while its conversion webhook fails.
func conversionsDown() []trial.Test {
	var tests []trial.Test
	for _, request := range []struct {
		name string
		// The argument version is the resourceVersion of the object.
		send func(t *trial.T, v2 trial.Resource, version string) *trial.Answer
	}{
		{"get", func(t *trial.T, v2 trial.Resource, _ string) *trial.Answer { return t.Get(v2, "a") }},
		{"list", func(t *trial.T, v2 trial.Resource, _ string) *trial.Answer { return t.List(v2) }},
		{"update", func(t *trial.T, v2 trial.Resource, version string) *trial.Answer {
			return t.Update(v2, t.Object(v2, "a").With("metadata.resourceVersion", version))
		}},
		{"patch", func(t *trial.T, v2 trial.Resource, _ string) *trial.Answer {
			return t.Patch(v2, "a", trial.MergePatch, trial.Object{"spec": trial.Object{}})
		}},
		{"apply", func(t *trial.T, v2 trial.Resource, _ string) *trial.Answer {
			return t.Apply(v2, t.Object(v2, "a"), "tester", "force=true")
		}},
		{"delete", func(t *trial.T, v2 trial.Resource, _ string) *trial.Answer { return t.Delete(v2, "a", nil) }},
		{"deletecollection", func(t *trial.T, v2 trial.Resource, _ string) *trial.Answer { return t.Delete(v2, "", nil) }},
	} {
		tests = append(tests, trial.Test{
			ID:      "conversion.down." + request.name,
			Promise: "While the conversion webhook fails, a request in another version than the stored one fails, and the object stays: " + request.name + ".",
			Run: func(t *trial.T) {
				var down atomic.Bool
				v1, v2 := defineConverted(t, unless(&down, renamed))
				down.Store(true) // before the create, because a server may keep objects that it has converted
				o := t.Create(v1, t.Object(v1, "a").With("spec", trial.Object{"v1": 1})).OK()
				a := request.send(t, v2, o.Version())
				t.True(a.Code >= 400, "a refusal", fmt.Sprint(a.Code))
				if request.name != "list" && request.name != "deletecollection" { // a cache may answer these
					t.Contains("the message", "conversion webhook", a.Object.Text("message"))
				}
				t.Equal("the object in the stored version", o, t.Get(v1, "a").OK())
				down.Store(false)
				t.Equal("the spec in the other version, when the webhook answers again", trial.Object{"v2": 1}, t.Get(v2, "a").OK()["spec"])
			},
		})
	}
	return append(tests, trial.Test{
		ID: "conversion.down.watch", Cost: 5 * time.Second,
		Promise: "While the conversion webhook fails, a watch in another version than the stored one gets no object; when the webhook answers again, a watch has the objects.",
		Run: func(t *trial.T) {
			var down atomic.Bool
			v1, v2 := defineConverted(t, unless(&down, renamed))
			down.Store(true)
			t.Create(v1, t.Object(v1, "a").With("spec", trial.Object{"v1": 1})).OK()
			w := t.Watch(v2, "timeoutSeconds=2")
			for {
				e := w.Ends(10 * time.Second)
				if e == nil {
					break
				}
				t.True(e["type"] == "ERROR" || e["type"] == "BOOKMARK", "no event with an object", fmt.Sprint(e))
			}
			down.Store(false)
			t.Eventually("a watch has the object", 30*time.Second, func() string {
				w := t.Watch(v2, "timeoutSeconds=5")
				e := w.Ends(10 * time.Second)
				if e == nil || e["type"] != "ADDED" {
					return fmt.Sprintf("the code is %d, and the first event is %v", w.Code, e)
				}
				t.Equal("the object", trial.Object{"v2": 1}, e.At("object.spec"))
				return ""
			})
		},
	})
}
