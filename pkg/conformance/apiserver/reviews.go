package apiserver

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// reviews has the cases about the request in the AdmissionReview that a webhook gets.
var reviews = []trial.Test{
	{
		ID: "review.envelope", Source: dynamic + "Request",
		Promise: "Webhooks are sent a POST request, with Content-Type application/json, with an AdmissionReview serialized to JSON as the body.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("mutating", trial.Allow()), trial.Validating("validating", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			for _, call := range t.Calls() {
				t.Equal(call.Hook+": method", http.MethodPost, call.Method)
				t.Equal(call.Hook+": content type", "application/json", call.Header.Get("Content-Type"))
				t.Equal(call.Hook+": kind", "AdmissionReview", call.Review["kind"])
				t.Equal(call.Hook+": apiVersion", "admission.k8s.io/v1", call.Review["apiVersion"])
				t.True(!call.Review.Has("response"), call.Hook+": a review without response", string(call.Body))
			}
			t.Called("mutating", "validating")
		},
	},
	{
		ID: "review.putCreates", Source: reference + "Lease",
		Promise: "A PUT that creates the object is a CREATE, with CreateOptions and without oldObject.",
		Needs:   []trial.Need{trial.Serves(leases)},
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", leases)))
			t.Update(leases, t.Object(leases, "a")).OK()
			r := t.One("hook")
			t.Equal("operation", "CREATE", r.At("operation"))
			t.Equal("oldObject", nil, r.At("oldObject"))
			t.Equal("options.kind", "CreateOptions", r.At("options.kind"))
		},
	},
	{
		ID: "review.uid", Source: dynamic + "Request",
		Promise: "The uid is random, and identifies a single call of a single webhook.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("first", trial.Allow()), trial.Mutating("second", trial.Allow()), trial.Validating("third", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Create(trial.ConfigMaps, t.ConfigMap("b")).OK()
			seen := map[string]bool{}
			for _, call := range t.Calls() {
				uid := call.Request().Text("uid")
				t.True(uid != "" && !seen[uid], "a uid that no other call has", uid)
				seen[uid] = true
			}
			t.Called("first", "second", "third", "first", "second", "third")
		},
	},
	{
		ID: "review.generateName", Source: reference + "AdmissionRequest",
		Promise: "On a CREATE operation, the client may rely on the server to generate the name; then name is empty for mutating webhooks, and the generated one for validating webhooks.",
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Allow())...)
			o := t.ConfigMap("a").Without("metadata.name").With("metadata.generateName", "some-")
			name := t.Create(trial.ConfigMaps, o).OK().Name()
			t.True(strings.HasPrefix(name, "some-") && name != "some-", "a name that begins with some-", name)
			calls := t.Calls()
			t.Called("mutating", "validating")
			for _, call := range calls {
				want := ""
				if call.Hook == "validating" {
					want = name
				}
				t.Equal("name in the review by "+call.Hook, want, call.Request().Text("name"))
				t.Equal("object.metadata.name in the review by "+call.Hook, want, call.Request().Text("object.metadata.name"))
				t.Equal("object.metadata.generateName in the review by "+call.Hook, "some-", call.Request().At("object.metadata.generateName"))
			}
		},
	},
	{
		ID: "review.clusterScope", Source: dynamic + "Request",
		Promise: "namespace is absent for resources without a namespace, except for a Namespace: there it is the name of the Namespace.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("CREATE", trial.ClusterRoles, trial.Namespaces), t.Own))
			t.Create(trial.ClusterRoles, t.Object(trial.ClusterRoles, t.Name("role"))).OK()
			t.Equal("namespace", "", t.One("hook").Text("namespace"))
			t.NewNamespace(t.Name("other"), nil)
			t.Equal("namespace", t.Name("other"), t.One("hook").At("namespace"))
		},
	},
	{
		ID: "review.clusterScope.generateName", Source: dynamic + "Request",
		Promise: "If the name of a Namespace is generated, its review by mutating webhooks has neither name nor namespace; validating webhooks see the name, and the label of the name.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("mutating", trial.Allow(), trial.On("CREATE", trial.Namespaces), t.Own),
				trial.Validating("validating", trial.Allow(), trial.On("CREATE", trial.Namespaces), t.Own,
					trial.NamespacesWith(metav1.LabelSelectorRequirement{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpExists})))
			o := t.Object(trial.Namespaces, "").Without("metadata.name").With("metadata.generateName", t.Name("made-"))
			name := t.Create(trial.Namespaces, o, dry).OK().Name()
			calls := t.Calls()
			t.Called("mutating", "validating")
			for _, call := range calls {
				want := map[string]string{"mutating": "", "validating": name}[call.Hook]
				t.Equal("name in the review by "+call.Hook, want, call.Request().Text("name"))
				t.Equal("namespace in the review by "+call.Hook, "", call.Request().Text("namespace"))
				if call.Hook == "validating" {
					t.Equal("the label that it sees", name, call.Request().Sub("object").Label("kubernetes.io/metadata.name"))
				}
			}
		},
	},
	{
		ID: "review.defaults", Source: chain + "Create",
		Promise: "The object that a webhook is sent has the defaults of its version.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Allow(), trial.On("CREATE", trial.Services)))
			o := t.Object(trial.Services, "web").With("spec.ports", []any{trial.Object{"port": 80}})
			t.Create(trial.Services, o).OK()
			r := t.One("hook")
			t.Equal("object.spec.sessionAffinity", "None", r.At("object.spec.sessionAffinity"))
			t.Equal("object.spec.type", "ClusterIP", r.At("object.spec.type"))
			t.Equal("object.spec.ports[0].protocol", "TCP", r.Sub("object").Objects("spec.ports")[0]["protocol"])
		},
	},
	{
		ID: "review.managedFields", Source: applyPages + "Field management",
		Promise: "The object of a write has the managed fields of that write when validating webhooks see it.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "fieldManager=tester").OK()
			managers := t.One("hook").Objects("object.metadata.managedFields")
			if t.True(len(managers) == 1, "one field manager", "another number") {
				t.Equal("the manager", "tester", managers[0]["manager"])
			}
		},
	},
	{
		ID: "review.exempt", Source: kep492 + "V1 API",
		Promise: "Webhooks are never called on admission requests for webhook configurations.",
		Run: func(t *trial.T) {
			rule := trial.Rule("*", "admissionregistration.k8s.io", "*", "*")
			t.Install(trial.Mutating("mutating", trial.Allow(), trial.Rules(rule), t.Own), trial.Validating("validating", trial.Deny(403, "no"), trial.Rules(rule), t.Own))
			for _, hook := range []*trial.Hook{trial.Mutating("another-m", trial.Allow()), trial.Validating("another-v", trial.Allow())} {
				r, o := t.Configuration(hook.Short, hook)
				t.Create(r, o).OK()
				t.Delete(r, o.Name(), nil).OK()
			}
			t.Called()
		},
	},
}
