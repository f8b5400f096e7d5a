package apiserver

import (
	"fmt"
	"net/http"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// plugins has the cases about the place of webhooks between the built-in admission plugins.
var plugins = sourced("Admission Controllers, What does each admission controller do?", []trial.Test{
	{
		ID:      "order.plugins.namespace",
		Promise: "NamespaceLifecycle comes first: no webhook is called for an object in a namespace that doesn't exist, or is being deleted.",
		Run: func(t *trial.T) {
			inside := held(t)
			t.Install(pairOf(trial.Allow())...)
			t.Create(inside, t.ConfigMap("late")).Refused(http.StatusForbidden)
			missing := trial.ConfigMaps.In(t.Namespace() + "-missing")
			t.Create(missing, t.ConfigMap("lost")).Refused(http.StatusNotFound)
			t.Called()
		},
	},
	{
		ID:      "order.plugins.mutating",
		Promise: "Built-in mutating plugins change an object before the first webhook sees it: a pod has its priority and its tolerations.",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Allow(), trial.On("CREATE", trial.Pods)))
			pod(t, "a")
			r := t.One("hook")
			t.Equal("object.spec.priority", 0, r.At("object.spec.priority"))
			t.True(len(r.Sub("object").List("spec.tolerations")) > 0, "tolerations", "none")
		},
	},
	{
		ID: "order.plugins.podSecurity", Promise: "PodSecurity judges a pod after all mutating webhooks, and before the validating ones.",
		Run: func(t *trial.T) {
			patch := trial.Add("/spec/containers/0/securityContext", trial.Object{"privileged": true})
			refusedAfterMutation(t, patch, `violates PodSecurity "baseline:latest"`)
		},
	},
	{
		ID: "order.plugins.limitRanger", Promise: "LimitRanger judges a pod after all mutating webhooks, and before the validating ones.",
		Run: func(t *trial.T) {
			patch := trial.Add("/spec/containers/0/resources", trial.Object{"limits": trial.Object{"memory": "1Gi"}})
			refusedAfterMutation(t, patch, "maximum memory usage per Container is 64Mi")
		},
	},
	{
		ID:      "order.plugins.quota",
		Promise: "ResourceQuota comes last: an object that a validating webhook refuses isn't charged, and a charge calls no webhook again.",
		Cost:    time.Second,
		Run: func(t *trial.T) {
			limitServices(t)
			t.Install(trial.Validating("hook", trial.Answering(func(c *trial.Call) trial.Response {
				return trial.Response{"allowed": c.Request().Text("name") != "refused"}
			}), trial.On("CREATE", trial.Services)))
			used := func() any { return t.Get(quotas, "quota").OK().At("status.used.services") }
			t.True(t.Create(trial.Services, service80(t, "refused", "ClusterIP")).Code >= 400, "a refusal", "none")
			t.Equal("what is used after the refusal", "0", used())
			t.Create(trial.Services, service80(t, "admitted", "ClusterIP")).OK()
			t.Equal("what is used after the request", "1", used())
			t.Called("hook", "hook")
			t.Create(trial.Services, service80(t, "more", "ClusterIP")).Refused(http.StatusForbidden, "exceeded quota")
		},
	},
	{
		ID: "order.repaired.owners", Source: "Kubernetes API reference, ObjectMeta",
		Promise: "If a webhook adds the same owner twice, the server keeps one reference and warns.",
		Run: func(t *trial.T) {
			owner := trial.Object{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": t.Create(trial.ConfigMaps, t.ConfigMap("owner")).OK().At("metadata.uid")}
			repaired(t, t.Object(trial.ConfigMaps, "a").With("metadata.ownerReferences", []any{owner}), trial.Add("/metadata/ownerReferences/-", owner),
				".metadata.ownerReferences contains duplicate entries", func(o trial.Object) any { return o.At("metadata.ownerReferences") })
		},
	},
	{
		ID: "order.repaired.managedFields", Source: applyPages + "Field management",
		Promise: "If a webhook makes the managed fields unreadable, the server keeps the earlier ones and warns.",
		Run: func(t *trial.T) {
			repaired(t, t.ConfigMap("a", "key", "value"), trial.Op{Op: "remove", Path: "/metadata/managedFields/0/fieldsType"},
				".metadata.managedFields was in an invalid state after admission", func(o trial.Object) any {
					fields := []any{}
					for _, entry := range o.Objects("metadata.managedFields") {
						fields = append(fields, trial.Object{"manager": entry["manager"], "fields": entry["fieldsV1"]})
					}
					return fields
				})
		},
	},
})

// refusedAfterMutation creates a pod that is valid until a mutating webhook changes it. A plugin must refuse the changed
// pod before validating webhooks are called.
func refusedAfterMutation(t *trial.T, patch trial.Op, message string) {
	t.NewNamespace(t.Name("careful"), map[string]string{"pod-security.kubernetes.io/enforce": "baseline"})
	accounts, limits, pods := trial.ServiceAccounts.In(t.Name("careful")), limitRanges.In(t.Name("careful")), trial.Pods.In(t.Name("careful"))
	t.Create(accounts, t.Object(accounts, "conformance")).OK()
	t.Create(limits, t.Object(limits, "limits").With("spec.limits", []any{trial.Object{"type": "Container", "max": trial.Object{"memory": "64Mi"}}})).OK()
	o := t.Object(pods, "a").With("spec", template())
	t.Eventually("the limits are in effect", 20*time.Second, func() string {
		a := t.Create(pods, o, dry)
		if a.OK().Objects("spec.containers")[0].At("resources.limits.memory") == nil {
			return "the container has no limit"
		}
		return ""
	})
	t.Install(trial.Mutating("mutating", trial.Patch(patch), trial.On("CREATE", trial.Pods)), trial.Validating("validating", trial.Allow(), trial.On("CREATE", trial.Pods)))
	t.Create(pods, o).Refused(http.StatusForbidden, message)
	t.Called("mutating")
}

// repaired writes an object by each verb while a webhook makes the metadata wrong. The server must keep the right
// metadata, and warn.
func repaired(t *trial.T, o trial.Object, patch trial.Op, warning string, metadata func(trial.Object) any) {
	before := t.Create(trial.ConfigMaps, o).OK()
	t.Install(trial.Mutating("hook", trial.Patch(patch)))
	for verb, a := range map[string]*trial.Answer{
		"create": t.Create(trial.ConfigMaps, o.With("metadata.name", "b"), dry),
		"update": t.Update(trial.ConfigMaps, before, dry),
		"patch":  t.Patch(trial.ConfigMaps, "a", trial.JSONPatch, []any{}, dry),
	} {
		t.Equal("the metadata after the "+verb, metadata(before), metadata(a.OK()))
		warnings := fmt.Sprint(a.Warnings())
		t.Contains("the warnings of the "+verb, warning, warnings)
	}
}
