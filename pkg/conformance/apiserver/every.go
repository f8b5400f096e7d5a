package apiserver

import (
	_ "embed"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

//go:embed objects.yaml
var objectsYAML []byte

// EveryPattern is the pattern of the identifiers of cases that depend on discovery.
const EveryPattern = "every.GROUP.VERSION.RESOURCE"

const everyPromise = "Each verb of a resource that discovery lists is reviewed with its operation, objects, options, dry run and names, " +
	"in each version and subresource"

// every returns a test for each resource and version that a server lists, and that has an object in objects.yaml.
func every(resources []trial.Resource) ([]trial.Test, error) {
	objects := map[string]trial.Object{}
	if err := yaml.Unmarshal(objectsYAML, &objects); err != nil {
		return nil, fmt.Errorf("objects of every resource: %w", err)
	}
	var tests []trial.Test
	for _, r := range resources {
		content, found := objects[r.String()]
		if !found {
			content, found = objects[r.Name]
		}
		if !found || r.Subresource != "" || !slices.Contains(r.Verbs, "create") || foreign(r.Group) {
			continue
		}
		tests = append(tests, trial.Test{
			ID: fmt.Sprintf("every.%s.%s.%s", groupOf(r), r.Version, r.Name), Source: dynamic + "Request", Cost: time.Second,
			Promise: everyPromise + ": " + r.String() + ".",
			Run:     func(t *trial.T) { newWalk(t, r, content).all() },
		})
	}
	return tests, nil
}

// foreign tells whether a group isn't one of Kubernetes, so a resource may have the name of another kind.
func foreign(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
}

// groupOf names a group in an identifier, whose parts have no empty one.
func groupOf(r trial.Resource) string {
	if r.Group == "" {
		return "core"
	}
	return r.Group
}

// walk requests a resource by its verbs.
type walk struct {
	*trial.T
	resource trial.Resource
	content  trial.Object
}

func newWalk(t *trial.T, r trial.Resource, content trial.Object) *walk {
	w := &walk{T: t, resource: r, content: content}
	rule := trial.Rules(trial.Rule("*", r.Group, r.Version, r.Name, r.Name+"/*"))
	if r.Namespaced {
		t.Install(pairOf(trial.Allow(), rule)...)
	} else {
		t.Install(pairOf(trial.Allow(), rule, t.Own)...)
	}
	return w
}

// object returns an object of the resource.
func (w *walk) object(name string) trial.Object {
	o := w.Object(w.resource, w.objectName(name))
	for key, value := range w.content {
		o[key] = value
	}
	o = o.Copy()
	for _, reference := range []string{"involvedObject", "regarding"} { // of an event, which must be of its namespace
		if o.Has(reference) {
			o = o.With(reference+".namespace", w.Namespace())
		}
	}
	return o
}

func (w *walk) objectName(name string) string {
	if w.resource.Namespaced {
		return name
	}
	return w.Name(name)
}

func (w *walk) can(verb string) bool { return slices.Contains(w.resource.Verbs, verb) }

func (w *walk) all() {
	w.Forget()
	name := w.objectName("a")
	w.Create(w.resource, w.object("a"), "dryRun=All").OK()
	w.reviewed(expected{operation: "CREATE", dryRun: true, options: "CreateOptions", name: name})
	w.Create(w.resource, w.object("a")).OK()
	w.reviewed(expected{operation: "CREATE", options: "CreateOptions", name: name})
	note := func(value string) trial.Object {
		return trial.Object{"metadata": trial.Object{"annotations": trial.Object{"conformance.miniapi.dev/note": value}}}
	}
	update := expected{operation: "UPDATE", options: "UpdateOptions", name: name}
	if w.can("patch") {
		w.Patch(w.resource, name, trial.MergePatch, note("patched")).OK()
		w.reviewed(update)
		o := w.Object(w.resource, name).With("metadata.annotations", trial.Object{"conformance.miniapi.dev/applied": "yes"})
		w.Apply(w.resource, o, "conformance-walk", "force=true").OK()
		w.reviewed(update)
	}
	if w.can("update") && w.can("get") {
		w.updated(name)
		w.reviewed(update)
	}
	for _, sub := range []string{"status", "scale"} {
		if r, served := w.Server.Find(w.resource.Sub(sub)); served && slices.Contains(r.Verbs, "patch") {
			patch := note(sub)
			if sub == "scale" {
				patch = trial.Object{"spec": trial.Object{"replicas": 0}}
			}
			w.Patch(r, name, trial.MergePatch, patch).OK()
			w.reviewed(expected{operation: "UPDATE", options: "UpdateOptions", name: name, subresource: r})
		}
	}
	if w.can("delete") {
		w.Delete(w.resource, name, trial.Object{"gracePeriodSeconds": 0, "dryRun": []string{"All"}}).OK()
		w.reviewed(expected{operation: "DELETE", options: "DeleteOptions", name: name, dryRun: true})
		w.Delete(w.resource, name, trial.Object{"gracePeriodSeconds": 0}).OK()
		w.reviewed(expected{operation: "DELETE", options: "DeleteOptions", name: name})
	}
	if w.can("deletecollection") && (w.resource.Namespaced || trial.Disposable(w.Server) == "") {
		w.Create(w.resource, w.object("b")).OK()
		w.Create(w.resource, w.object("c")).OK()
		w.Forget()
		w.Delete(w.resource, "", trial.Object{"gracePeriodSeconds": 0}, "labelSelector="+trial.LabelCase+"="+w.Namespace()).OK()
		w.reviewed(expected{operation: "DELETE", options: "DeleteOptions", names: []string{w.objectName("b"), w.objectName("c")}})
	}
}

// updated puts the object with another annotation. A controller may write in between, which is a conflict.
func (w *walk) updated(name string) {
	w.Eventually("the update is accepted", eventTimeout, func() string {
		o := w.Get(w.resource, name).OK().With("metadata.annotations.updated", "yes")
		w.Forget()
		a := w.Update(w.resource, o)
		if a.Code == http.StatusConflict {
			return a.Object.Text("message")
		}
		a.OK()
		return ""
	})
}

// expected is what the reviews of a request have in common.
type expected struct {
	operation, options string
	// name is that of the one object, or names those of a collection, whose reviews have no name.
	name        string
	names       []string
	subresource trial.Resource
	dryRun      bool
}

// reviewed compares the reviews since the last request with those expected, and forgets them.
func (w *walk) reviewed(e expected) {
	kind := trial.Object{"group": w.resource.Group, "version": w.resource.Version, "kind": w.resource.Kind}
	resource := trial.Object{"group": w.resource.Group, "version": w.resource.Version, "resource": w.resource.Name}
	if e.subresource.KindVersion != "" {
		kind = trial.Object{"group": e.subresource.KindGroup, "version": e.subresource.KindVersion, "kind": e.subresource.Kind}
	}
	for _, hook := range []string{"mutating", "validating"} {
		calls := w.Calls(hook)
		w.True(len(calls) > 0, "a review by the "+hook+" webhook", "none")
		seen := map[string]bool{}
		for _, call := range calls {
			r := call.Request()
			what := hook + " " + e.operation + " "
			w.Equal(what+"operation", e.operation, r.At("operation"))
			w.Equal(what+"kind", kind, r.At("kind"))
			w.Equal(what+"requestKind", kind, r.At("requestKind"))
			w.Equal(what+"resource", resource, r.At("resource"))
			w.Equal(what+"requestResource", resource, r.At("requestResource"))
			w.Equal(what+"subResource", e.subresource.Subresource, r.Text("subResource"))
			w.Equal(what+"dryRun", e.dryRun, r.At("dryRun"))
			w.Equal(what+"options.kind", e.options, r.At("options.kind"))
			w.Equal(what+"object is null", e.operation == "DELETE", r.At("object") == nil)
			w.Equal(what+"oldObject is null", e.operation == "CREATE", r.At("oldObject") == nil)
			for _, object := range []string{"object", "oldObject"} {
				if o := r.Sub(object); o != nil {
					w.Equal(what+object+".kind", kind["kind"], o["kind"])
					seen[o.Name()] = true
				}
			}
			if e.names == nil {
				w.Equal(what+"name", e.name, r.At("name"))
			}
		}
		for _, name := range append(slices.Clone(e.names), e.name) {
			w.True(name == "" || seen[name], "a review of "+name+" by the "+hook+" webhook", fmt.Sprint(seen))
		}
	}
	w.Forget()
}
