package apiserver

import (
	"net/http"
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// deletions has the cases about the deletion of an object: finalizers, options and grace periods.
var deletions = sourced("Finalizers, How finalizers work", append(podDeletions(), []trial.Test{
	{
		ID:      "finalizer.holds",
		Promise: "A delete of an object with finalizers sets deletionTimestamp; the object stays until the last finalizer is removed.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.finalizers", []string{hold})).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			o := t.Get(trial.ConfigMaps, "a").OK()
			t.True(o.Text("metadata.deletionTimestamp") != "", "a deletionTimestamp", "none")
			t.Patch(trial.ConfigMaps, "a", trial.MergePatch, noFinalizers).OK()
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID: "finalizer.noNew", Promise: "An object that is being deleted gets no new finalizers.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.finalizers", []string{hold})).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			patch := trial.Object{"metadata": trial.Object{"finalizers": []string{hold, "conformance.miniapi.dev/more"}}}
			t.Patch(trial.ConfigMaps, "a", trial.MergePatch, patch).Refused(http.StatusUnprocessableEntity, "finalizers")
		},
	},
	{
		ID: "finalizer.timestamp", Promise: "Only the server sets deletionTimestamp: a write can neither set nor remove the field.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.deletionTimestamp", "2001-01-01T00:00:00Z").With("metadata.finalizers", []string{hold})).OK()
			t.Equal("deletionTimestamp", nil, o.At("metadata.deletionTimestamp"))
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			t.Update(trial.ConfigMaps, o.With("data.key", "new").Without("metadata.resourceVersion")).OK()
			t.True(t.Get(trial.ConfigMaps, "a").OK().Text("metadata.deletionTimestamp") != "", "a deletionTimestamp", "none")
		},
	},
	{
		ID:      "finalizer.review",
		Promise: "The delete of an object with finalizers is reviewed as a DELETE, and the removal of a finalizer as an UPDATE.",
		Source:  kep492 + "Plumbing existing objects to delete admission",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.finalizers", []string{hold})).OK()
			t.Install(trial.Validating("hook", trial.Allow()))
			for range 2 { // a deletion that is requested again is reviewed again
				t.Delete(trial.ConfigMaps, "a", nil).OK()
				t.Equal("operation", "DELETE", t.One("hook").At("operation"))
			}
			t.Patch(trial.ConfigMaps, "a", trial.MergePatch, noFinalizers).OK()
			t.Equal("operation", "UPDATE", t.One("hook").At("operation"))
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
		},
	},
	{
		ID: "delete.gone", Promise: "A delete of an object without finalizers removes it.", Source: concepts + "Resource deletion",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			t.Get(trial.ConfigMaps, "a").Refused(http.StatusNotFound)
			t.Equal("the names", []string{}, names(t.List(trial.ConfigMaps, own).OK()))
		},
	},
	{
		ID: "delete.policy", Promise: "propagationPolicy and orphanDependents may not both be set.", Source: reference + "DeleteOptions",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Delete(trial.ConfigMaps, "a", trial.Object{"propagationPolicy": "Background", "orphanDependents": true}).Refused(http.StatusUnprocessableEntity)
			t.Get(trial.ConfigMaps, "a").OK()
		},
	},
	{
		ID: "delete.evicted", Promise: "An eviction deletes the pod without the review of a DELETE.", Source: reference + "Eviction",
		Run: func(t *trial.T) {
			pod(t, "one")
			t.Install(pairOf(trial.Deny(http.StatusTeapot, "it stays"), trial.On("DELETE", trial.Pods))...)
			t.Create(trial.Pods.Sub("eviction"), trial.Object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "one"}}).OK()
			t.Called()
			t.Get(trial.Pods, "one").Refused(http.StatusNotFound)
		},
	},
	reviewedDelete("Orphan", "orphan"), reviewedDelete("Foreground", "foregroundDeletion"),
	{
		ID:      "finalizer.dryRun",
		Promise: "A dry run that removes the last finalizer of an object that is being deleted removes neither the finalizer nor the object.",
		Run: func(t *trial.T) {
			t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.finalizers", []string{hold})).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			before := t.Get(trial.ConfigMaps, "a").OK()
			t.Patch(trial.ConfigMaps, "a", trial.MergePatch, noFinalizers, dry).OK()
			t.Update(trial.ConfigMaps, before.Without("metadata.finalizers"), dry).OK()
			t.Equal("the object", before, t.Get(trial.ConfigMaps, "a").OK())
		},
	},
	{
		ID:      "finalizer.writes",
		Promise: "An object that is being deleted stays as long as it has a finalizer, whatever else is written to it, by its own endpoint and by its subresources.",
		Run: func(t *trial.T) {
			t.Create(trial.Deployments, deployment(t, "web").With("metadata.finalizers", []string{hold})).OK()
			t.Delete(trial.Deployments, "web", nil).OK()
			label := func(value string) trial.Object {
				return trial.Object{"metadata": trial.Object{"labels": trial.Object{"written": value}}}
			}
			for _, r := range []trial.Resource{trial.Deployments, trial.Deployments.Sub("status")} {
				t.Patch(r, "web", trial.MergePatch, label("merged")).OK()
				t.Patch(r, "web", trial.StrategicPatch, label("strategic")).OK()
				t.Apply(r, t.Object(trial.Deployments, "web"), "tester", "force=true").OK()
				t.Update(r, t.Get(r, "web").OK().Without("metadata.resourceVersion").Without("metadata.deletionTimestamp")).OK()
			}
			t.Patch(trial.Deployments.Sub("scale"), "web", trial.MergePatch, trial.Object{"spec": trial.Object{"replicas": 0}}).OK()
			o := t.Get(trial.Deployments, "web").OK()
			t.True(o.Text("metadata.deletionTimestamp") != "", "a deletionTimestamp", "none")
			t.Equal("finalizers", []string{hold}, o.At("metadata.finalizers"))
		},
	},
	{
		ID:      "finalizer.releases",
		Promise: "A Service that is being deleted keeps its cluster IP and node port until its last finalizer is removed, by whichever endpoint; then another Service can have both.",
		Run: func(t *trial.T) {
			for _, through := range []trial.Resource{trial.Services, trial.Services.Sub("status")} {
				held := t.Create(trial.Services, nodePort(t, "held").With("metadata.finalizers", []string{hold})).OK()
				next := nodePort(t, "next").With("spec.clusterIP", held.At("spec.clusterIP")).
					With("spec.ports", []any{trial.Object{"port": 80, "nodePort": held.Objects("spec.ports")[0]["nodePort"]}})
				t.Delete(trial.Services, "held", nil).OK()
				t.Create(trial.Services, next).Refused(http.StatusUnprocessableEntity)
				t.Patch(through, "held", trial.MergePatch, noFinalizers).OK()
				t.Get(trial.Services, "held").Refused(http.StatusNotFound)
				t.Create(trial.Services, next).OK()
				t.Delete(trial.Services, "next", nil).OK()
			}
		},
	},
}...))

// reviewedDelete returns a case about a delete with a propagation policy that leaves the object with a finalizer.
func reviewedDelete(policy, finalizer string) trial.Test {
	return trial.Test{
		ID: "delete.reviewed." + strings.ToLower(policy), Source: kep492 + "Plumbing existing objects to delete admission",
		Promise: "A delete with the propagation policy " + policy + " is reviewed once, as a DELETE, although it only adds a finalizer.",
		Run: func(t *trial.T) {
			before := t.Create(trial.ConfigMaps, t.ConfigMap("a").With("metadata.finalizers", []string{hold})).OK()
			t.Install(pairOf(trial.Allow())...)
			deleted := t.Delete(trial.ConfigMaps, "a", trial.Object{"propagationPolicy": policy}).OK()
			t.Equal("finalizers", []string{hold, finalizer}, deleted.At("metadata.finalizers"))
			calls := t.Calls()
			t.Called("mutating", "validating")
			for _, call := range calls {
				t.Equal("operation in the review by "+call.Hook, "DELETE", call.Request()["operation"])
				t.Equal("oldObject in the review by "+call.Hook, before, call.Request()["oldObject"])
				t.Equal("options.propagationPolicy in the review by "+call.Hook, policy, call.Request().At("options.propagationPolicy"))
			}
		},
	}
}

// hold is the finalizer of objects whose deletion a case delays.
const hold = "conformance.miniapi.dev/hold"

// noFinalizers is a merge patch that removes all finalizers.
var noFinalizers = trial.Object{"metadata": trial.Object{"finalizers": nil}}

// nodePort returns a Service with a node port.
func nodePort(t *trial.T, name string) trial.Object {
	return t.Object(trial.Services, name).With("spec", trial.Object{"type": "NodePort", "ports": []any{trial.Object{"port": 80}}})
}

// boundPod creates a pod that is bound to a node that doesn't exist. The deletion of the pod waits for the kubelet.
// Each case has a node name of its own, because controllers delete the pods of a node that has been missing for long.
func boundPod(t *trial.T, finalizers ...string) trial.Object {
	t.Create(trial.ServiceAccounts, t.Object(trial.ServiceAccounts, "conformance")).OK()
	o := t.Object(trial.Pods, "a").With("spec", template()).With("spec.nodeName", t.Name("no-node")).With("metadata.finalizers", finalizers)
	return t.Create(trial.Pods, o).OK()
}

// podDeletions has the cases about pods that are bound to a node.
func podDeletions() []trial.Test {
	status := trial.Pods.Sub("status")
	tests := []trial.Test{{
		ID:      "pod.gracePeriod.reviews",
		Promise: "Each request that shortens the grace period of a pod's deletion is reviewed as a DELETE with this period; with a period of 0, the pod is deleted at once.",
		Run: func(t *trial.T) {
			boundPod(t)
			t.Install(trial.Validating("hook", trial.Allow(), trial.On("DELETE", trial.Pods)))
			for i, step := range []struct {
				sent   any
				period int
			}{{nil, 30}, {nil, 30}, {trial.Object{"gracePeriodSeconds": 10}, 10}, {trial.Object{"gracePeriodSeconds": 0}, 0}} {
				t.Delete(trial.Pods, "a", step.sent).OK()
				if i == 1 { // the grace period stays
					t.Called()
					continue
				}
				calls := t.Calls()
				t.True(len(calls) > 0, "a review of the DELETE", "none")
				for _, call := range calls {
					t.Equal("options.gracePeriodSeconds", step.period, call.Request().At("options.gracePeriodSeconds"))
				}
				t.Forget()
			}
			t.Get(trial.Pods, "a").Refused(http.StatusNotFound)
		},
	}}
	for _, write := range []struct {
		name, promise string
		finalizers    []string
		send          func(*trial.T)
	}{
		{"status", "an update of the status leaves it", nil, func(t *trial.T) {
			o := t.Get(trial.Pods, "a").OK().With("status.phase", "Running").Without("metadata.deletionTimestamp").Without("metadata.deletionGracePeriodSeconds")
			t.Update(status, o).OK()
		}},
		{"lastFinalizer", "the removal of the last finalizer leaves it", []string{hold}, func(t *trial.T) {
			t.Patch(status, "a", trial.MergePatch, noFinalizers).OK()
		}},
		{"patch", "a patch leaves it, and its grace period", nil, func(t *trial.T) {
			t.Patch(trial.Pods, "a", trial.MergePatch, trial.Object{"metadata": trial.Object{"labels": trial.Object{"a": "b"}}}).OK()
		}},
		{"dryRun", "a dry run of another deletion leaves it", nil, func(t *trial.T) {
			t.Delete(trial.Pods, "a", trial.Object{"gracePeriodSeconds": 0, "dryRun": []string{"All"}}).OK()
		}},
	} {
		tests = append(tests, trial.Test{
			ID:      "pod.gracePeriod." + write.name,
			Promise: "A deleted pod that is bound to a node stays until its grace period is over: " + write.promise + ".",
			Run: func(t *trial.T) {
				boundPod(t, write.finalizers...)
				t.Delete(trial.Pods, "a", nil).OK()
				write.send(t)
				o := t.Get(trial.Pods, "a").OK()
				t.True(o.Text("metadata.deletionTimestamp") != "", "a deletionTimestamp", "none")
				t.Equal("deletionGracePeriodSeconds", 30, o.At("metadata.deletionGracePeriodSeconds"))
			},
		})
	}
	for i := range tests {
		tests[i].Source = "Pod Lifecycle, Termination of Pods"
	}
	return tests
}
