package apiserver

import (
	"net/http"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// dryRuns has the cases about dry runs.
var dryRuns = append(dryRunTests(), sourced(concepts+"Dry-run", dryRunEffects)...)

func dryRunTests() []trial.Test {
	tests := []trial.Test{
		{
			ID: "dryRun.refused", Source: concepts + "Dry-run", Promise: "Webhooks refuse a dry run as they refuse the request.",
			Run: func(t *trial.T) {
				t.Install(trial.Validating("hook", trial.Deny(http.StatusTeapot, "no")))
				t.Create(trial.ConfigMaps, t.ConfigMap("a"), "dryRun=All").Refused(http.StatusTeapot, "no")
			},
		},
		{
			ID: "dryRun.invalid", Source: concepts + "Dry-run", Promise: "All is the only value of dryRun; another one is refused.",
			Run: func(t *trial.T) {
				t.Create(trial.ConfigMaps, t.ConfigMap("a"), "dryRun=Some").Refused(http.StatusUnprocessableEntity, "dryRun")
			},
		},
	}
	for _, class := range []admissionregistrationv1.SideEffectClass{admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun} {
		tests = append(tests, trial.Test{
			ID: "dryRun.sideEffects." + string(class), Source: dynamic + "Side effects",
			Promise: "A request with dryRun true is sent to a webhook with sideEffects " + string(class) + ", with dryRun true.",
			Run: func(t *trial.T) {
				t.Install(pairOf(trial.Allow(), func(h *trial.Hook) { h.SideEffects = &class })...)
				t.Create(trial.ConfigMaps, t.ConfigMap("a"), "dryRun=All").OK()
				for _, call := range t.Calls() {
					t.Equal("dryRun", true, call.Request().At("dryRun"))
				}
				t.Called("mutating", "validating")
			},
		})
	}
	return tests
}

// dryRunEffects has further cases about the effects of a dry run, such as events and allocated addresses.
var dryRunEffects = []trial.Test{
	{
		ID: "dryRun.noEvent", Promise: "A watch gets no events for dry runs of creates, updates, patches and deletes.",
		Run: func(t *trial.T) {
			there := t.Create(trial.ConfigMaps, t.ConfigMap("there", "key", "value")).OK()
			w := t.Watch(trial.ConfigMaps, "labelSelector="+trial.LabelCase, "resourceVersion="+there.Version())
			t.Create(trial.ConfigMaps, t.ConfigMap("new"), "dryRun=All").OK()
			t.Update(trial.ConfigMaps, there.With("data.key", "new"), "dryRun=All").OK()
			t.Patch(trial.ConfigMaps, "there", trial.MergePatch, trial.Object{"data": trial.Object{"key": "new"}}, "dryRun=All").OK()
			t.Delete(trial.ConfigMaps, "there", nil, "dryRun=All").OK()
			t.Create(trial.ConfigMaps, t.ConfigMap("end")).OK()
			t.Equal("the next event", "ADDED end", event(w.Next(eventTimeout)))
		},
	},
	{
		ID: "dryRun.listed", Promise: "Dry runs don't change a list: it has the same objects in the same versions.",
		Run: func(t *trial.T) {
			three(t)
			before := t.List(trial.ConfigMaps, "labelSelector="+trial.LabelCase).OK()["items"]
			t.Create(trial.ConfigMaps, t.ConfigMap("new"), "dryRun=All").OK()
			t.Patch(trial.ConfigMaps, "a", trial.MergePatch, trial.Object{"data": trial.Object{"key": "new"}}, "dryRun=All").OK()
			t.Delete(trial.ConfigMaps, "", nil, "dryRun=All", "labelSelector="+trial.LabelCase).OK()
			t.Equal("the items", before, t.List(trial.ConfigMaps, "labelSelector="+trial.LabelCase).OK()["items"])
		},
	},
	{
		ID: "dryRun.clusterIP", Promise: "A dry run takes no cluster IP: another Service can have the IP.",
		Run: func(t *trial.T) { untaken(t, "ClusterIP", "clusterIP") },
	},
	{
		ID: "dryRun.nodePort", Promise: "A dry run takes no node port: another Service can have the port.",
		Run: func(t *trial.T) { untaken(t, "NodePort", "nodePort") },
	},
	{
		ID: "dryRun.releasesNothing", Promise: "A dry run of a delete releases nothing: the Service keeps its cluster IP.",
		Run: func(t *trial.T) {
			ip := t.Create(trial.Services, service80(t, "one", "ClusterIP")).OK().At("spec.clusterIP")
			t.Delete(trial.Services, "one", nil, "dryRun=All").OK()
			t.Create(trial.Services, service80(t, "two", "ClusterIP").With("spec.clusterIP", ip)).Refused(http.StatusUnprocessableEntity, "clusterIP")
		},
	},
	{
		ID:      "dryRun.quota",
		Promise: "A quota refuses a dry run as it refuses the request, and a dry run isn't charged to the quota.",
		Cost:    time.Second,
		Run: func(t *trial.T) {
			limitServices(t)
			t.Equal("what is used after the dry run", "0", t.Get(quotas, "quota").OK().At("status.used.services"))
			t.Create(trial.Services, service80(t, "one", "ClusterIP")).OK()
			t.Equal("what is used after the request", "1", t.Get(quotas, "quota").OK().At("status.used.services"))
		},
	},
	{
		ID: "dryRun.finalizers", Promise: "A dry run of a delete doesn't begin the deletion of an object with finalizers.",
		Run: func(t *trial.T) {
			before := t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.finalizers", []string{"conformance.miniapi.dev/holds"})).OK()
			t.Delete(trial.ConfigMaps, "a", nil, "dryRun=All").OK()
			t.Equal("the object", before, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID: "dryRun.namespace", Promise: "A dry run of the deletion of a namespace leaves the namespace active, with all its objects.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Delete(trial.Namespaces, t.Namespace(), nil, "dryRun=All").OK()
			t.Equal("status.phase", "Active", t.Get(trial.Namespaces, t.Namespace()).OK().At("status.phase"))
			t.Create(trial.ConfigMaps, t.ConfigMap("b")).OK()
			t.Get(trial.ConfigMaps, "a").OK()
		},
	},
	{
		ID: "dryRun.warned", Promise: "The answer to a dry run has the warnings of webhooks.",
		Run: func(t *trial.T) {
			t.Install(trial.Validating("hook", trial.Warn("mind this")))
			warned(t, t.Create(trial.ConfigMaps, t.ConfigMap("a"), "dryRun=All"), "mind this")
		},
	},
	{
		ID: "dryRun.audited", Promise: "A dry run has an audit event, with the annotations of webhooks.",
		Needs: []trial.Need{trial.AuditLog},
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("mutates", trial.Patch(trial.Add("/data/added", "yes"))))
			a := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value"), "dryRun=All")
			a.OK()
			who := trial.Object{"configuration": t.Name("mutates"), "webhook": "mutates.conformance.miniapi.dev"}
			annotations(t, a, []string{
				annotation("mutation.webhook.admission.k8s.io/round_0", who.With("mutated", true)),
				annotation("patch.webhook.admission.k8s.io/round_0",
					who.With("patchType", "JSONPatch").With("patch", []trial.Op{trial.Add("/data/added", "yes")})),
			})
		},
	},
	{
		ID: "dryRun.policy", Promise: "Policies apply to dry runs, and can refuse them.",
		Needs: []trial.Need{trial.Serves(trial.Policies)},
		Run: func(t *trial.T) {
			p := t.Policy("p", validation("request.dryRun == false", "no dry run"))
			t.Enforce(p, t.Binding(p, "Deny"))
			t.Create(trial.ConfigMaps, t.ConfigMap("a"), "dryRun=All").Refused(http.StatusUnprocessableEntity, "no dry run")
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
		},
	},
}

// quotaTimeout limits the time until a changed quota is in effect.
const quotaTimeout = 20 * time.Second

// quotas is the resource of the quota that limitServices creates, with the name "quota".
var quotas = trial.Resource{Version: "v1", Name: "resourcequotas", Kind: "ResourceQuota", Namespaced: true}

// limitServices creates a quota for one Service, and returns when the quota is in effect.
func limitServices(t *trial.T) {
	t.Create(quotas, t.Object(quotas, "quota").With("spec.hard", trial.Object{"services": "0"})).OK()
	for _, step := range []struct {
		services, expected string
		code               int
	}{{"0", "the quota refuses the dry run", http.StatusForbidden}, {"1", "the quota has room for the dry run", http.StatusCreated}} {
		hard := trial.Object{"services": step.services}
		t.Patch(quotas, "quota", trial.MergePatch, trial.Object{"spec": trial.Object{"hard": hard}}).OK()
		// On most servers, the quota controller writes this status. The case writes it too, because a server may lack the
		// controller.
		status := trial.Object{"status": trial.Object{"hard": hard, "used": trial.Object{"services": "0"}}}
		t.Patch(quotas.Sub("status"), "quota", trial.MergePatch, status).OK()
		t.Eventually(step.expected, quotaTimeout, func() string {
			a := t.Create(trial.Services, service80(t, "one", "ClusterIP"), "dryRun=All")
			if a.Code == step.code {
				return ""
			}
			return string(a.Body)
		})
	}
}

// service80 returns a Service of the type serviceType, with the port 80.
func service80(t *trial.T, name, serviceType string) trial.Object {
	return t.Object(trial.Services, name).With("spec", trial.Object{"type": serviceType, "ports": []any{trial.Object{"port": 80}}})
}

// untaken checks that a dry run doesn't take a cluster IP or a node port. It creates and deletes a Service to get a
// free value. It requests the value for a second Service by a dry run, and then for a third Service by an ordinary
// create.
func untaken(t *trial.T, serviceType, field string) {
	free := t.Create(trial.Services, service80(t, "first", serviceType)).OK()
	t.Delete(trial.Services, "first", nil).OK()
	asking := func(name string) trial.Object {
		o := service80(t, name, serviceType)
		if field == "clusterIP" {
			return o.With("spec.clusterIP", free.At("spec.clusterIP"))
		}
		return o.With("spec.ports", []any{trial.Object{"port": 80, "nodePort": free.Objects("spec.ports")[0]["nodePort"]}})
	}
	t.Create(trial.Services, asking("second"), "dryRun=All").OK()
	t.Create(trial.Services, asking("third")).OK()
}
