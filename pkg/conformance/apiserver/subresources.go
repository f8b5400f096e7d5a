package apiserver

import (
	"fmt"
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// posted are the objects for creates of subresources. The webhook refuses the requests, so the server stores nothing.
var posted = map[string]trial.Object{
	"binding":  {"target": trial.Object{"kind": "Node", "name": "conformance-none"}},
	"eviction": {},
	"token":    {"spec": trial.Object{"audiences": []string{"conformance"}}},
}

// methods are the HTTP methods of the verbs of connections.
var methods = []struct{ verb, method string }{
	{"create", http.MethodPost}, {"get", http.MethodGet}, {"update", http.MethodPut}, {"patch", http.MethodPatch}, {"delete", http.MethodDelete},
}

// subresource makes a request for each verb of a subresource.
func (w *walk) subresource() {
	switch {
	case connects(w.resource):
		w.connections()
	case readOnly(w.resource):
		// The answer to a get isn't checked, because its content comes from elsewhere: a log, for example, comes from a
		// node.
		w.take([]step{{"get", func() { w.Get(w.resource, w.Name("none")) }, expected{}}})
	default:
		w.written()
	}
}

// connections makes a connection by each verb to an object that doesn't exist. The webhook refuses the request before
// the server looks for the object.
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
