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
		ID: "review.create.object", Source: dynamic + "Request",
		Promise: "CREATE has the new object as object.",
		Run: both("CREATE", func(t *trial.T) { t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK() }, func(t *trial.T, r trial.Object) {
			t.Equal("operation", "CREATE", r.At("operation"))
			t.Equal("object.kind", "ConfigMap", r.At("object.kind"))
			t.Equal("object.apiVersion", "v1", r.At("object.apiVersion"))
			t.Equal("object.data", trial.Object{"key": "value"}, r.At("object.data"))
		}),
	},
	{
		ID: "review.create.oldObject", Source: dynamic + "Request",
		Promise: "oldObject is null for CREATE operations.",
		Run: both("CREATE", func(t *trial.T) { t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK() }, func(t *trial.T, r trial.Object) {
			t.Equal("oldObject", nil, r.At("oldObject"))
		}),
	},
	{
		ID: "review.create.options", Source: kep492 + "Passing {Operation}Option to Webhook",
		Promise: "CREATE has the CreateOptions of the request as options.",
		Run: both("CREATE", func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a"), "fieldManager=tester", "fieldValidation=Strict").OK()
		}, func(t *trial.T, r trial.Object) {
			t.Equal("options", trial.Object{"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "fieldManager": "tester", "fieldValidation": "Strict"}, r.At("options"))
		}),
	},
	{
		ID: "review.update.objects", Source: dynamic + "Request",
		Promise: "UPDATE has the new object as object, and the existing one as oldObject.",
		Run: both("UPDATE", func(t *trial.T) {
			old := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "old")).OK()
			t.Update(trial.ConfigMaps, old.With("data.key", "new")).OK()
		}, func(t *trial.T, r trial.Object) {
			t.Equal("operation", "UPDATE", r.At("operation"))
			t.Equal("object.data.key", "new", r.At("object.data.key"))
			t.Equal("oldObject.data.key", "old", r.At("oldObject.data.key"))
			t.Equal("the uid of oldObject", r.At("object.metadata.uid"), r.At("oldObject.metadata.uid"))
		}),
	},
	{
		ID: "review.update.options", Source: kep492 + "Passing {Operation}Option to Webhook",
		Promise: "UPDATE has the UpdateOptions of the request as options.",
		Run: both("UPDATE", func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Update(trial.ConfigMaps, t.ConfigMap("a", "key", "new"), "fieldManager=tester").OK()
		}, func(t *trial.T, r trial.Object) {
			t.Equal("options", trial.Object{"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "fieldManager": "tester"}, r.Sub("options").Without("fieldValidation"))
		}),
	},
	{
		ID: "review.delete.oldObject", Source: kep492 + "Plumbing existing objects to delete admission",
		Promise: "DELETE has the existing object as oldObject.",
		Run: func(t *trial.T) {
			existing := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Install(trial.Mutating("mutating", trial.Allow(), trial.Reviews("v1beta1")), trial.Validating("validating", trial.Allow()))
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			for _, call := range t.Calls() {
				t.Equal("operation in the review by "+call.Hook, "DELETE", call.Request().At("operation"))
				t.Equal("oldObject in the review by "+call.Hook, existing, call.Request().At("oldObject"))
			}
			t.Called("mutating", "validating")
		},
	},
	{
		ID: "review.delete.object", Source: dynamic + "Request",
		Promise: "object is null for DELETE operations.",
		Run: both("DELETE", func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
		}, func(t *trial.T, r trial.Object) {
			t.True(r.Has("object"), "the field object", "none")
			t.Equal("object", nil, r.At("object"))
		}),
	},
	{
		ID: "review.delete.options", Source: kep492 + "Passing {Operation}Option to Webhook",
		Promise: "DELETE has the DeleteOptions of the request as options.",
		Run: both("DELETE", func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Delete(trial.ConfigMaps, "a", trial.Object{"gracePeriodSeconds": 7, "propagationPolicy": "Background"}).OK()
		}, func(t *trial.T, r trial.Object) {
			t.Equal("options", trial.Object{"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 7, "propagationPolicy": "Background"}, r.At("options"))
		}),
	},
	{
		ID: "review.options.none", Source: kep492 + "Passing {Operation}Option to Webhook",
		Promise: "Without options in the request, the options of a review have their kind and version alone.",
		Run: func(t *trial.T) {
			t.Install(pairOf(trial.Allow(), trial.On("CREATE DELETE", trial.ConfigMaps))...)
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			for _, call := range t.Calls() {
				kind := map[string]string{"CREATE": "CreateOptions", "DELETE": "DeleteOptions"}[call.Request().Text("operation")]
				t.Equal("options of the review by the "+call.Hook+" webhook", trial.Object{"apiVersion": "meta.k8s.io/v1", "kind": kind}, call.Request().At("options"))
			}
			t.Called("mutating", "validating", "mutating", "validating")
		},
	},
	{
		ID: "review.patch.options", Source: kep492 + "Passing {Operation}Option to Webhook",
		Promise: "A patch is an UPDATE with UpdateOptions, which have the options of the request.",
		Run: both("UPDATE", func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Patch(trial.ConfigMaps, "a", trial.MergePatch, trial.Object{"data": trial.Object{"key": "new"}}, "fieldManager=tester", "fieldValidation=Ignore", dry).OK()
		}, func(t *trial.T, r trial.Object) {
			t.Equal("options", trial.Object{"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "fieldManager": "tester", "fieldValidation": "Ignore", "dryRun": []string{"All"}}, r.At("options"))
		}),
	},
	{
		ID: "review.apply.options", Source: kep492 + "Passing {Operation}Option to Webhook",
		Promise: "An apply is an UPDATE with UpdateOptions, which have no field force.",
		Run: both("UPDATE", func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Apply(trial.ConfigMaps, t.ConfigMap("a", "key", "new"), "tester", "force=true").OK()
		}, func(t *trial.T, r trial.Object) {
			t.Equal("options", trial.Object{"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "fieldManager": "tester"}, r.At("options"))
		}),
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
		ID: "review.name", Source: dynamic + "Request",
		Promise: "name is the name of the resource being modified, and namespace its namespace.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Allow()))
			steps := []func(){
				func() { t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK() },
				func() { t.Update(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK() },
				func() { t.Delete(trial.ConfigMaps, "a", nil).OK() },
			}
			for _, step := range steps {
				step()
				r := t.One("hook")
				t.Equal("name", "a", r.At("name"))
				t.Equal("namespace", t.Namespace(), r.At("namespace"))
			}
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
		ID: "review.kinds", Source: dynamic + "Request",
		Promise: "kind and resource are fully qualified; requestKind and requestResource are the same unless the request was converted.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", trial.Deployments)))
			t.Create(trial.Deployments, deployment(t, "web")).OK()
			r := t.One("hook")
			kind := trial.Object{"group": "apps", "version": "v1", "kind": "Deployment"}
			resource := trial.Object{"group": "apps", "version": "v1", "resource": "deployments"}
			t.Equal("kind", kind, r.At("kind"))
			t.Equal("requestKind", kind, r.At("requestKind"))
			t.Equal("resource", resource, r.At("resource"))
			t.Equal("requestResource", resource, r.At("requestResource"))
			t.Equal("subResource", "", r.Text("subResource"))
		},
	},
	{
		ID: "review.scale", Source: dynamic + "Request",
		Promise: "A request to update the scale subresource of a Deployment has the kind autoscaling/v1 Scale and the subResource scale.",
		Run: func(t *trial.T) {
			t.Create(trial.Deployments, deployment(t, "web")).OK()
			scale := trial.Deployments.Sub("scale")
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", scale)))
			t.Update(scale, t.Get(scale, "web").OK().With("spec.replicas", 0)).OK()
			r := t.One("hook")
			kind := trial.Object{"group": "autoscaling", "version": "v1", "kind": "Scale"}
			t.Equal("kind", kind, r.At("kind"))
			t.Equal("requestKind", kind, r.At("requestKind"))
			t.Equal("resource", trial.Object{"group": "apps", "version": "v1", "resource": "deployments"}, r.At("resource"))
			t.Equal("subResource", "scale", r.At("subResource"))
			t.Equal("requestSubResource", "scale", r.At("requestSubResource"))
			t.Equal("object.kind", "Scale", r.At("object.kind"))
			t.Equal("oldObject.kind", "Scale", r.At("oldObject.kind"))
			t.Equal("name", "web", r.At("name"))
		},
	},
	{
		ID: "review.status", Source: dynamic + "Matching requests: rules",
		Promise: "An update of the status subresource has the subResource status, and the whole object before and after.",
		Run: func(t *trial.T) {
			t.Create(trial.Deployments, deployment(t, "web")).OK()
			status := trial.Deployments.Sub("status")
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("*", status)))
			t.Patch(status, "web", trial.MergePatch, trial.Object{"status": trial.Object{"observedGeneration": 1}}).OK()
			r := t.One("hook")
			t.Equal("subResource", "status", r.At("subResource"))
			t.Equal("kind.kind", "Deployment", r.At("kind.kind"))
			t.Equal("object.status.observedGeneration", 1, r.At("object.status.observedGeneration"))
			t.Equal("oldObject.status.observedGeneration", nil, r.At("oldObject.status.observedGeneration"))
			t.Equal("oldObject.kind", "Deployment", r.At("oldObject.kind"))
		},
	},
	{
		ID: "review.token", Source: reference + "TokenRequest",
		Promise: "A request for a token is a CREATE of the subresource token, with a TokenRequest as object.",
		Needs:   []trial.Need{trial.Serves(trial.ServiceAccounts.Sub("token"))},
		Run: func(t *trial.T) {
			t.Create(trial.ServiceAccounts, t.Object(trial.ServiceAccounts, "me")).OK()
			token := trial.ServiceAccounts.Sub("token")
			t.Install(trial.Validating("hook", trial.Deny(http.StatusTeapot, "no token"), trial.On("*", token)))
			o := trial.Object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": trial.Object{"name": "me"}, "spec": trial.Object{"audiences": []string{"a"}}}
			t.Create(token, o.Copy()).Refused(http.StatusTeapot, "no token")
			r := t.One("hook")
			t.Equal("operation", "CREATE", r.At("operation"))
			t.Equal("kind", trial.Object{"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"}, r.At("kind"))
			t.Equal("resource.resource", "serviceaccounts", r.At("resource.resource"))
			t.Equal("subResource", "token", r.At("subResource"))
			t.Equal("name", "me", r.At("name"))
		},
	},
	{
		ID: "review.eviction", Source: reference + "Eviction",
		Promise: "An eviction is a CREATE of the subresource eviction of a pod, with an Eviction as object.",
		Run: func(t *trial.T) {
			pod(t, "one")
			eviction := trial.Pods.Sub("eviction")
			t.Install(trial.Validating("hook", trial.Deny(http.StatusTeapot, "it stays"), trial.On("CREATE", eviction)))
			o := trial.Object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": trial.Object{"name": "one"}}
			t.Create(eviction, o.Copy()).Refused(http.StatusTeapot, "it stays")
			r := t.One("hook")
			t.Equal("kind", trial.Object{"group": "policy", "version": "v1", "kind": "Eviction"}, r.At("kind"))
			t.Equal("subResource", "eviction", r.At("subResource"))
			t.Equal("name", "one", r.At("name"))
		},
	},
	{
		ID: "review.binding", Source: reference + "Binding",
		Promise: "The binding of a pod to a node is a CREATE of the subresource binding, with a Binding as object.",
		Run: func(t *trial.T) {
			pod(t, "one")
			binding := trial.Pods.Sub("binding")
			t.Install(trial.Validating("hook", trial.Deny(http.StatusTeapot, "no node"), trial.On("CREATE", binding)))
			o := trial.Object{"apiVersion": "v1", "kind": "Binding", "metadata": trial.Object{"name": "one"}, "target": trial.Object{"kind": "Node", "name": "nowhere"}}
			t.Create(binding, o.Copy()).Refused(http.StatusTeapot, "no node")
			r := t.One("hook")
			t.Equal("kind.kind", "Binding", r.At("kind.kind"))
			t.Equal("subResource", "binding", r.At("subResource"))
			t.Equal("object.target.name", "nowhere", r.At("object.target.name"))
		},
	},
	{
		ID: "review.userInfo", Source: dynamic + "Request",
		Promise: "userInfo has name, uid, groups and extra of the authenticated user.",
		Needs:   []trial.Need{trial.Serves(trial.SelfReviews)},
		Run: func(t *trial.T) {
			self := t.Create(trial.SelfReviews, trial.Object{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).OK().Sub("status.userInfo")
			t.Install(trial.Mutating("hook", trial.Allow()))
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			seen := t.One("hook").Sub("userInfo")
			for _, field := range []string{"username", "groups"} {
				t.Equal("userInfo."+field, self[field], seen[field])
			}
			t.Equal("userInfo.uid", self.Text("uid"), seen.Text("uid"))
			t.Equal("userInfo.extra", self.Sub("extra"), seen.Sub("extra"))
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

// both returns a case about an operation on ConfigMaps. The case checks the review that a mutating webhook gets, and
// the review that a validating webhook gets.
func both(operation string, request func(*trial.T), check func(*trial.T, trial.Object)) func(*trial.T) {
	return func(t *trial.T) {
		t.Install(trial.Mutating("mutating", trial.Allow(), trial.On(operation, trial.ConfigMaps)),
			trial.Validating("validating", trial.Allow(), trial.On(operation, trial.ConfigMaps)))
		request(t)
		calls := t.Calls()
		t.Called("mutating", "validating")
		for _, call := range calls {
			check(t, call.Request())
		}
	}
}
