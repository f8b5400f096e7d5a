package apiserver

import (
	"fmt"
	"net/http"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// namespaces has the cases about namespaces and their deletion.
var namespaces = append(append([]trial.Test{
	{
		ID: "namespace.phase", Promise: "A namespace is Active, and Terminating after its delete.",
		Source: "Namespaces, Working with Namespaces",
		Run: func(t *trial.T) {
			held(t)
			o := t.Get(trial.Namespaces, t.Name("held")).OK()
			t.Equal("status.phase", "Terminating", o.At("status.phase"))
			t.True(o.Text("metadata.deletionTimestamp") != "", "a deletionTimestamp", "none")
		},
	},
	{
		ID:      "namespace.terminating",
		Promise: "Nothing can be created in a namespace that is terminating: the answer is 403 with the cause NamespaceTerminating.",
		Source:  "Admission Controllers, NamespaceLifecycle",
		Run: func(t *trial.T) {
			inside := held(t)
			status := t.Create(inside, t.ConfigMap("late")).Refused(http.StatusForbidden, "being terminated")
			causes := status.Objects("details.causes")
			if t.True(len(causes) == 1, "one cause", fmt.Sprint(len(causes))) {
				t.Equal("reason", "NamespaceTerminating", causes[0]["reason"])
			}
		},
	},
	{
		ID: "namespace.terminating.update", Promise: "Objects of a namespace that is terminating can be updated.",
		Source: "Admission Controllers, NamespaceLifecycle",
		Run: func(t *trial.T) {
			inside := held(t)
			t.Patch(inside, "holds", trial.MergePatch, trial.Object{"data": trial.Object{"key": "new"}}).OK()
		},
	},
	{
		ID: "namespace.label", Promise: "A namespace has the label kubernetes.io/metadata.name with its name.",
		Source: "Namespaces, Automatic labelling",
		Run: func(t *trial.T) {
			t.Equal("the label", t.Namespace(), t.Get(trial.Namespaces, t.Namespace()).OK().Label("kubernetes.io/metadata.name"))
		},
	},
	{
		ID:      "namespace.finalized",
		Promise: "A namespace is deleted when the last of its spec.finalizers is removed by the subresource finalize.",
		Source:  "Namespaces, Working with Namespaces", Needs: finalizing,
		Run: func(t *trial.T) {
			name := t.Name("ended")
			t.NewNamespace(name, nil)
			t.Delete(trial.Namespaces, name, nil).OK()
			t.Eventually("the namespace is deleted", 20*time.Second, func() string {
				// The namespace may be gone already, because the namespace controller removes the finalizer, too.
				a := t.Get(trial.Namespaces, name)
				if a.Code == http.StatusNotFound {
					return ""
				}
				t.Update(trial.Namespaces.Sub("finalize"), a.OK().Without("spec.finalizers"))
				if a = t.Get(trial.Namespaces, name); a.Code == http.StatusNotFound {
					return ""
				}
				return fmt.Sprintf("the namespace has the finalizers %v", a.Object.At("spec.finalizers"))
			})
		},
	},
}, terminatingWrites()...), propagations()...)

// held creates a namespace with finalizers, and deletes it. The namespace contains a ConfigMap with a finalizer, so the
// server can't remove the namespace. held returns the resource of ConfigMaps in the namespace.
func held(t *trial.T, finalizers ...string) trial.Resource {
	inside := trial.ConfigMaps.In(t.Name("held"))
	t.Create(trial.Namespaces, t.Object(trial.Namespaces, t.Name("held")).With("metadata.finalizers", finalizers)).OK()
	t.Create(inside, t.ConfigMap("holds").With("metadata.finalizers", []string{hold})).OK()
	t.Delete(trial.Namespaces, t.Name("held"), nil).OK()
	return inside
}

// finalizing are the needs of a case that finalizes a namespace. The namespace may be deleted before the objects that
// controllers create in it, and such objects stay.
var finalizing = []trial.Need{trial.Disposable}

// terminatingWrites has the cases about writes of a namespace that is being deleted. After the write, the namespace
// must still exist, because it isn't finalized or has finalizers.
func terminatingWrites() []trial.Test {
	status, finalize := trial.Namespaces.Sub("status"), trial.Namespaces.Sub("finalize")
	condition := trial.Object{"type": "NamespaceContentRemaining", "status": "True", "reason": "Test", "lastTransitionTime": "2026-01-01T00:00:00Z"}
	var tests []trial.Test
	for _, write := range []struct {
		name, promise string
		finalizers    []string
		send          func(*trial.T, trial.Object) *trial.Answer
	}{
		{"status", "an update of the status", nil, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Update(status, o.With("status.conditions", []any{condition}))
		}},
		{"status.patched", "a patch of the status", nil, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Patch(status, o.Name(), trial.StrategicPatch, trial.Object{"status": trial.Object{"conditions": []any{condition}}})
		}},
		{"status.applied", "an apply of the status", nil, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Apply(status, t.Object(trial.Namespaces, o.Name()).With("status", trial.Object{"conditions": []any{condition}}), "tester", "force=true")
		}},
		{"status.finalizers", "an update of the status that removes metadata.finalizers", []string{hold}, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Update(status, o.Without("metadata.finalizers"))
		}},
		{"update", "an update that removes all finalizers of metadata and spec", []string{hold}, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Update(trial.Namespaces, o.Without("metadata.finalizers").Without("spec.finalizers"))
		}},
		{"delete", "another deletion", nil, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Delete(trial.Namespaces, o.Name(), trial.Object{"gracePeriodSeconds": 0})
		}},
		{"finalize.other", "a finalization that leaves another finalizer", nil, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Update(finalize, o.With("spec.finalizers", []string{hold}))
		}},
		{"finalize.dryRun", "a dry run of the finalization", nil, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Update(finalize, o.Without("spec.finalizers"), dry)
		}},
		{"finalize.metadata", "a finalization while metadata has a finalizer", []string{hold}, func(t *trial.T, o trial.Object) *trial.Answer {
			return t.Update(finalize, o.With("spec.finalizers", []string{}))
		}},
	} {
		var needs []trial.Need
		if write.name == "finalize.other" || write.name == "finalize.metadata" {
			needs = finalizing
		}
		tests = append(tests, trial.Test{
			ID: "namespace.stays." + write.name, Needs: needs, Source: "Namespaces, Working with Namespaces",
			Promise: "A namespace that is being deleted stays until it is finalized and has no finalizers: " + write.promise + " leaves it.",
			Run: func(t *trial.T) {
				held(t, write.finalizers...)
				name := t.Name("held")
				t.Eventually("the write is accepted", 20*time.Second, func() string {
					// The namespace controller writes the status at the same time, so a write may fail with a conflict.
					a := write.send(t, t.Get(trial.Namespaces, name).OK())
					if a.Code == http.StatusConflict {
						return a.Object.Text("message")
					}
					a.OK()
					return ""
				})
				t.Equal("status.phase", "Terminating", t.Get(trial.Namespaces, name).OK().At("status.phase"))
			},
		})
	}
	return tests
}

// propagations has the cases about options of a deletion that decide about the dependents of a namespace.
func propagations() []trial.Test {
	var tests []trial.Test
	for _, options := range []struct {
		name, promise string
		sent          trial.Object
		finalizers    []string
	}{
		{"orphan", "propagationPolicy Orphan keeps the dependents, by the finalizer orphan",
			trial.Object{"propagationPolicy": "Orphan"}, []string{"orphan"}},
		{"foreground", "propagationPolicy Foreground deletes the dependents first, by the finalizer foregroundDeletion",
			trial.Object{"propagationPolicy": "Foreground"}, []string{"foregroundDeletion"}},
		{"background", "propagationPolicy Background deletes the dependents later, and adds no finalizer",
			trial.Object{"propagationPolicy": "Background"}, nil},
		{"notOrphaned", "the older field orphanDependents deletes the dependents of a namespace first if it is false",
			trial.Object{"orphanDependents": false}, []string{"foregroundDeletion"}},
		{"orphaned", "the older field orphanDependents keeps the dependents", trial.Object{"orphanDependents": true}, []string{"orphan"}},
	} {
		tests = append(tests, trial.Test{
			ID: "delete.propagation." + options.name, Source: "Garbage Collection, Cascading deletion",
			Promise: "Options of a deletion decide about the dependents: " + options.promise + ".",
			Run: func(t *trial.T) {
				t.NewNamespace(t.Name("owner"), nil)
				t.Create(trial.ConfigMaps.In(t.Name("owner")), t.ConfigMap("content").With("metadata.finalizers", []string{hold})).OK()
				o := t.Delete(trial.Namespaces, t.Name("owner"), options.sent).OK()
				t.Equal("metadata.finalizers of the answer", options.finalizers, o.At("metadata.finalizers"))
			},
		})
	}
	return tests
}
