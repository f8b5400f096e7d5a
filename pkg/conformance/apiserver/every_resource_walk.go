package apiserver

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// walk makes a request for each verb of a resource or subresource, and checks the reviews.
type walk struct {
	*trial.T
	// resource is the resource or subresource of the requests. If it is a subresource, whole is its parent resource.
	// Otherwise, whole equals resource.
	resource, whole trial.Resource
	// content has the fields of the objects that the walk creates.
	content trial.Object
	// derived says that the content is derived from the schema. The server may refuse such content, because a schema
	// doesn't have all rules of validation.
	derived bool
	// refuses says that the validating webhook refuses the requests, so the server stores nothing.
	refuses bool
}

// unlabelled maps resources whose objects can't have labels to a CEL condition that selects the objects of a case.
var unlabelled = map[string]string{
	"localsubjectaccessreviews": "true", // the object's namespace belongs to the case
	"subjectaccessreviews":      "object.spec.user == '$NAME'",
	"selfsubjectaccessreviews":  "object.spec.resourceAttributes.name == '$NAME'",
	"selfsubjectrulesreviews":   "object.spec.namespace == '$NAME'",
}

// unconnected is the name in requests for connections. No object has this name.
const unconnected = "conformance-no-such-node"

// newWalk returns a walk for a resource or subresource. It installs a mutating and a validating webhook that review the
// requests.
func newWalk(t *trial.T, r trial.Resource, s samples) *walk {
	t.Namespace() // the creation of the namespace must not be reviewed by the webhooks of the walk
	w := &walk{T: t, resource: r, whole: r}
	if r.Subresource != "" {
		w.whole, _ = t.Server.Find(r.Sub(""))
	}
	w.refuses = connects(r) || posted[r.Subresource] != nil || r.Subresource == "" && r.Name == "bindings"
	if !connects(r) && !readOnly(r) {
		sample, found := s.of(w.whole)
		w.content = sample
		if !found {
			if w.content, w.derived = smallest(t, w.whole); !w.derived {
				t.Skip("the suite has no object of " + w.whole.String() + ", and the server publishes no schema of it")
			}
		}
		if w.whole.Name == trial.Pods.Name {
			t.Create(trial.ServiceAccounts, t.Object(trial.ServiceAccounts, "conformance")).OK()
		}
	}
	w.install()
	return w
}

// install installs the webhooks. They review only requests of the case.
func (w *walk) install() {
	r := w.resource
	changes := []trial.Change{trial.Rules(trial.Rule("*", r.Group, r.Version, r.Name, r.Name+"/*"))}
	switch condition := unlabelled[r.Name]; {
	case connects(r):
		changes = append(changes, trial.On("CONNECT", r), trial.When("own", "request.name == '"+unconnected+"'"))
	case condition != "":
		changes = append(changes, trial.When("own", w.filled(trial.Object{"condition": condition}, w.Name("a")).Text("condition")))
	case !r.Namespaced:
		changes = append(changes, w.Own)
	}
	w.Install(trial.Mutating("mutating", trial.Allow(), changes...), trial.Validating("validating", trial.Answering(func(c *trial.Call) trial.Response {
		if w.refuses && c.Request().Text("subResource") == r.Subresource {
			return trial.Response{"allowed": false, "status": trial.Object{"code": http.StatusTeapot, "message": "refused"}}
		}
		return trial.Response{"allowed": true}
	}), changes...))
}

// named returns a new object of the walk's resource. For a subresource, it returns an object of the parent resource.
// The object's name ends with the letter.
func (w *walk) named(letter string) trial.Object {
	r := w.whole
	name := letter
	if !r.Namespaced {
		name = w.Name(letter)
	}
	o := w.Object(r, name)
	if unlabelled[r.Name] != "" {
		o["metadata"] = map[string]any{}
	}
	for key, value := range w.filled(w.content, name) {
		if key != "metadata" {
			o[key] = value
			continue
		}
		for field, own := range value.(map[string]any) {
			o.Sub("metadata")[field] = own
		}
	}
	return o.Copy()
}

func (w *walk) can(verb string) bool { return slices.Contains(w.resource.Verbs, verb) }

// step is a request, and the reviews that the request must cause. If the operation is empty, the request must cause no
// review.
type step struct {
	verb string
	send func()
	want expected
}

// take makes the requests of the steps whose verb the resource supports, and checks their reviews.
func (w *walk) take(steps []step) {
	for _, s := range steps {
		if w.can(s.verb) {
			w.Forget()
			s.send()
			w.reviewed(s.want)
		}
	}
}

// object makes a request for each verb of a resource.
func (w *walk) object() {
	if !w.can("create") {
		w.take([]step{{"list", func() { w.List(w.resource, "limit=1").OK() }, expected{}}})
		return
	}
	o := w.named("a")
	name := o.Name()
	created := expected{operation: "CREATE", options: "CreateOptions", name: name}
	if w.refuses {
		w.take([]step{{"create", func() { w.Create(w.resource, o).Refused(http.StatusTeapot) }, created}})
		return
	}
	if w.derived {
		w.tryDerived(o)
	}
	w.take([]step{
		{"create", func() { w.Create(w.resource, o, "dryRun=All").OK() }, created.dry()},
		{"create", func() { w.Create(w.resource, o).OK() }, created},
	})
	w.take(w.reads(name))
	w.take(w.changes(w.resource, name))
	deleted := expected{operation: "DELETE", options: "DeleteOptions", name: name}
	w.take([]step{
		{"delete", func() {
			w.Delete(w.resource, name, trial.Object{"gracePeriodSeconds": 0, "dryRun": []string{"All"}}).OK()
		}, deleted.dry()},
		{"delete", func() { w.Delete(w.resource, name, trial.Object{"gracePeriodSeconds": 0}).OK() }, deleted},
	})
	if w.resource.Namespaced {
		w.collection()
	}
}

// tryDerived creates an object that is derived from the schema, by a dry run. If the server refuses the object, the
// case is skipped, because a schema doesn't have all rules. If the server has other users, the case is skipped as well,
// because a controller would act on a stored object.
func (w *walk) tryDerived(o trial.Object) {
	if a := w.Create(w.whole, o, "dryRun=All"); !a.Succeeded() {
		w.Skip(fmt.Sprintf("the suite has no object of %s, and the server refuses the smallest one of its schema: %s", w.whole, a.Object.Text("message")))
	}
	if reason := trial.Disposable(w.Server); reason != "" {
		if w.resource.Subresource == "" {
			w.reviewed(expected{operation: "CREATE", options: "CreateOptions", name: o.Name(), dryRun: true})
		}
		w.Skip("only a dry run of a create was tried: " + reason)
	}
}

// reads returns requests that no webhook reviews.
func (w *walk) reads(name string) []step {
	return []step{
		{"get", func() { w.Get(w.resource, name).OK() }, expected{}},
		{"list", func() { w.List(w.resource, "labelSelector="+trial.LabelCase+"="+w.Namespace()).OK() }, expected{}},
		{"watch", func() {
			w.Equal("code of the watch", http.StatusOK, w.Watch(w.resource, "labelSelector="+trial.LabelCase+"=none").Code)
		}, expected{}},
	}
}

// changes returns updates and patches of all kinds, for a resource or subresource.
func (w *walk) changes(r trial.Resource, name string) []step {
	updated := expected{operation: "UPDATE", options: "UpdateOptions", name: name}
	patch := func(contentType string, body any, query ...string) func() {
		return func() { w.Patch(r, name, contentType, body, query...).OK() }
	}
	note := func(value string) any {
		if r.Subresource == "scale" {
			return trial.Object{"spec": trial.Object{"replicas": 0}}
		}
		return trial.Object{"metadata": trial.Object{"annotations": trial.Object{"conformance.miniapi.dev/note": value}}}
	}
	steps := []step{
		{"patch", patch(trial.MergePatch, note("tried"), "dryRun=All"), updated.dry()},
		{"patch", patch(trial.MergePatch, note("merged")), updated},
		{"patch", patch(trial.JSONPatch, []trial.Op{{Op: "test", Path: "/metadata/name", Value: name}}), updated},
		{"update", func() { w.updated(r, name) }, updated},
	}
	if r.Subresource != "scale" {
		steps = append(steps, step{"update", func() { w.unchanged(r, name) }, updated})
	}
	if !foreign(r.Group) && r.Subresource != "scale" {
		steps = append(steps, step{"patch", patch(trial.StrategicPatch, note("strategic")), updated})
	}
	if r.Subresource == "" {
		o := w.Object(r, name).With("metadata.annotations", trial.Object{"conformance.miniapi.dev/applied": "yes"})
		steps = append(steps, step{"patch", func() { w.Apply(r, o, "conformance-walk", "force=true").OK() }, updated})
	}
	return steps
}

// updated updates an object with another annotation, or a subresource without a change.
func (w *walk) updated(r trial.Resource, name string) {
	w.update(r, name, func(o trial.Object) trial.Object {
		if r.Subresource != "" {
			return o
		}
		return o.With("metadata.annotations.updated", "yes")
	})
}

// unchanged makes an update that changes nothing, and so writes nothing.
func (w *walk) unchanged(r trial.Resource, name string) {
	read, written := w.update(r, name, func(o trial.Object) trial.Object { return o })
	w.Equal("resourceVersion after an update that changes nothing", read.Version(), written.Version())
}

// update reads an object or a subresource, and updates it with a change. If a controller writes the object at the same
// time, the update fails with a conflict and is repeated. update returns the read object and the answer.
func (w *walk) update(r trial.Resource, name string, change func(trial.Object) trial.Object) (read, written trial.Object) {
	from := w.whole
	if w.can("get") {
		from = r
	}
	w.Eventually("the update is accepted", eventTimeout, func() string {
		read = w.Get(from, name).OK()
		w.Forget()
		a := w.Update(r, change(read))
		if a.Code == http.StatusConflict {
			return a.Object.Text("message")
		}
		written = a.OK()
		return ""
	})
	return read, written
}

// collection creates two objects, and deletes both by one request.
func (w *walk) collection() {
	if !w.can("deletecollection") {
		return
	}
	b, c := w.named("b"), w.named("c")
	if w.derived {
		w.tryDerived(b)
	}
	w.Create(w.resource, b).OK()
	w.Create(w.resource, c).OK()
	selected := "labelSelector=" + trial.LabelCase + "=" + w.Namespace()
	w.take([]step{{"deletecollection", func() { w.Delete(w.resource, "", trial.Object{"gracePeriodSeconds": 0}, selected).OK() },
		expected{operation: "DELETE", options: "DeleteOptions", names: []string{b.Name(), c.Name()}}}})
}

// expected is the content that all reviews of a request must have. The zero value says that there must be no reviews.
type expected struct {
	operation, options string
	// For a request for one object, name is the name in the review. For a collection, names are the names of the
	// objects, and the reviews have no name.
	name   string
	names  []string
	dryRun bool
}

func (e expected) dry() expected {
	e.dryRun = true
	return e
}

// reviewed compares the reviews since the last request with the expected reviews, and forgets the reviews.
func (w *walk) reviewed(e expected) {
	if e.operation == "" || w.exempt() {
		w.Called()
		return
	}
	if w.virtual() && len(w.Calls()) == 0 {
		return
	}
	group, version := w.resource.Group, w.resource.Version
	resource := trial.Object{"group": group, "version": version, "resource": w.resource.Name}
	if w.resource.KindVersion != "" {
		group, version = w.resource.KindGroup, w.resource.KindVersion
	}
	kind := trial.Object{"group": group, "version": version, "kind": w.resource.Kind}
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
			w.Equal(what+"subResource", w.resource.Subresource, r.Text("subResource"))
			w.Equal(what+"namespace", w.namespace(e.name), r.Text("namespace"))
			w.Equal(what+"dryRun", e.dryRun, r.At("dryRun"))
			w.Equal(what+"options.kind", e.options, r.Text("options.kind"))
			w.Equal(what+"object is null", e.operation == "DELETE", r.At("object") == nil)
			w.Equal(what+"oldObject is null", e.operation == "CREATE" || e.operation == "CONNECT", r.At("oldObject") == nil)
			for _, object := range []string{"object", "oldObject"} {
				if o := r.Sub(object); o != nil {
					w.Equal(what+object+".kind", kind["kind"], o["kind"])
					seen[o.Name()] = true
				}
			}
			if e.names == nil {
				w.Equal(what+"name", e.name, r.Text("name"))
			}
		}
		for _, name := range e.names {
			w.True(seen[name], "a review of "+name+" by the "+hook+" webhook", fmt.Sprint(seen))
		}
	}
	w.Forget()
}

// namespace returns the namespace in the review of the object called name, or "" for an object without a namespace. In
// the review of a Namespace, it is the Namespace's own name.
func (w *walk) namespace(name string) string {
	switch {
	case w.whole.Namespaced:
		return w.Namespace()
	case w.whole.Group == "" && w.whole.Name == trial.Namespaces.Name:
		return name
	}
	return ""
}

// exempt tells whether the resource configures admission. Webhooks don't review objects of such resources.
func (w *walk) exempt() bool { return w.resource.Group == trial.Policies.Group }

// virtual tells whether the server may skip the webhooks for the resource. Since 1.37, the feature gate
// ExcludeAdmissionWebhookVirtualResources is on by default: webhooks then don't review requests such as TokenReview
// and SubjectAccessReview.
func (w *walk) virtual() bool {
	return w.Server.Major == 1 && w.Server.Minor >= 37 &&
		(w.resource.Group == trial.SelfReviews.Group || w.resource.Group == "authorization.k8s.io")
}
