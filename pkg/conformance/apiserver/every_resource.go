package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// EveryPattern stands for the identifiers of the cases that exist for each resource of a server. A list of cases has
// EveryPattern if no server is given.
const EveryPattern = everyPrefix + "GROUP.VERSION.RESOURCE"

// everyPrefix is the beginning of the identifiers of the cases that exist for each resource of a server.
const everyPrefix = "every."

const everyPromise = "Each verb of a resource that discovery lists is reviewed with its operation, objects, options, dry run and names, " +
	"in each version and subresource; reads aren't reviewed, and an update that changes nothing writes nothing"

// risky are resources whose objects affect more than the case, so the cases don't create such objects on a server with
// other users.
var risky = []string{
	"apiservices", "devicetaintrules", "flowschemas", "ipaddresses", "nodes", "prioritylevelconfigurations", "resourcepoolstatusrequests",
	"resourceslices", "servicecidrs", "storageversionmigrations", "storageversions", "volumeattachments",
}

// every returns a test for each resource, subresource and version that a server lists. The deletion of a collection
// without a namespace is a separate test, because it needs a server without other users.
func every(resources []trial.Resource) ([]trial.Test, error) {
	samples, err := readSamples()
	if err != nil {
		return nil, err
	}
	var tests []trial.Test
	add := func(r trial.Resource, part string, needs []trial.Need, run func(*walk)) {
		if part != "" {
			part = "." + part
		}
		tests = append(tests, trial.Test{
			ID: fmt.Sprintf("every.%s.%s.%s%s", groupOf(r), r.Version, r.Name, part), Source: dynamic + "Request",
			Promise: everyPromise + ": " + r.String() + ".", Needs: needs,
			Run: func(t *trial.T) { run(newWalk(t, r, samples)) },
		})
	}
	for _, r := range resources {
		var needs []trial.Need
		if slices.Contains(risky, r.Name) && !connects(r) && !readOnly(r) {
			needs = append(needs, trial.Disposable)
		}
		if unlabelled[r.Name] != "" || connects(r) {
			needs = append(needs, trial.Since(30)) // match conditions confine the webhooks
		}
		if r.Subresource != "" {
			add(r, r.Subresource, needs, (*walk).subresource)
			continue
		}
		add(r, "", needs, (*walk).object)
		if slices.Contains(r.Verbs, "deletecollection") && !r.Namespaced {
			add(r, "deletecollection", append(needs, trial.Disposable), (*walk).collection)
		}
	}
	return tests, nil
}

// foreign tells whether a group doesn't belong to Kubernetes. A sample in objects.yaml is for a resource of such a group
// only if the sample's key has the group and the version.
func foreign(group string) bool {
	return !scheme.Scheme.IsGroupRegistered(group) && group != trial.Definitions.Group && group != "apiregistration.k8s.io"
}

// readOnly tells whether a resource has no verb that admission reviews.
func readOnly(r trial.Resource) bool {
	return !slices.ContainsFunc(r.Verbs, func(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) })
}

// connects tells whether requests for a subresource are connections. The kind of such a subresource ends with Options,
// as in PodExecOptions.
func connects(r trial.Resource) bool {
	return r.Subresource != "" && strings.HasSuffix(r.Kind, "Options")
}

// groupOf returns the group for the identifier of a case. It is "core" for the group without a name, because a part of
// an identifier can't be empty.
func groupOf(r trial.Resource) string {
	if r.Group == "" {
		return "core"
	}
	return r.Group
}

// posted maps a subresource to the fields of the object that a case posts to it. The validating webhook refuses the
// requests, so the server stores nothing.
var posted = map[string]trial.Object{
	"binding":  {"target": trial.Object{"kind": "Node", "name": "conformance-none"}},
	"eviction": {},
	"rollback": {"name": "a", "rollbackTo": trial.Object{"revision": 1}}, // the object has no metadata
	"token":    {"spec": trial.Object{"audiences": []string{"conformance"}}},
}

// methods are the verbs by which clients can request a connection, with their HTTP methods.
var methods = []struct{ verb, method string }{
	{"create", http.MethodPost}, {"get", http.MethodGet}, {"update", http.MethodPut}, {"patch", http.MethodPatch},
	{"delete", http.MethodDelete},
}

// subresource makes a request for each verb of a subresource.
func (w *walk) subresource() {
	switch {
	case connects(w.resource):
		w.connections()
	case readOnly(w.resource):
		// The answer to a get isn't checked, because its content depends on other processes: a log, for example, comes
		// from a node.
		w.take([]step{{"get", func() { w.Get(w.resource, w.Name("none")) }, expected{}}})
	default:
		w.written()
	}
}

// connections requests a connection to an object that doesn't exist, by each verb. The validating webhook refuses the
// request before the server looks for the object.
func (w *walk) connections() {
	var steps []step
	for _, m := range methods {
		request := trial.Request{Verb: m.method, Path: w.Path(w.resource, unconnected)}
		if m.method == http.MethodPatch {
			request.Type, request.Body = trial.MergePatch, trial.Object{}
		}
		steps = append(steps, step{m.verb, func() { w.Do(request).Refused(http.StatusTeapot) }, expected{operation: "CONNECT", name: unconnected}})
	}
	w.take(steps)
}

// written creates the object that the subresource belongs to, and writes the subresource.
func (w *walk) written() {
	o := w.named("a")
	name := o.Name()
	if w.derived {
		w.tryDerived(o)
	}
	w.Create(w.whole, o).OK()
	if body, is := posted[w.resource.Subresource]; is {
		created := w.Object(w.resource, name)
		for key, value := range body {
			created[key] = value
		}
		w.take([]step{{"create", func() { w.Create(w.resource, created.Copy()).Refused(http.StatusTeapot) },
			expected{operation: "CREATE", options: "CreateOptions", name: name}}})
		return
	}
	if a := w.Get(w.resource, name); w.derived && w.can("get") && !a.Succeeded() {
		w.Skip(fmt.Sprintf("the smallest object of the schema of %s has no %s: %s", w.whole, w.resource.Subresource, a.Object.Text("message")))
	}
	w.take([]step{{"get", func() { w.Get(w.resource, name).OK() }, expected{}}})
	w.take(w.changes(w.resource, name))
}
