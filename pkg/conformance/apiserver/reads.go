package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// eventTimeout limits the time until a watch sends an event.
const eventTimeout = 15 * time.Second

// until reads the events of a watch until one of them equals the argument "last", and returns the events before it. The
// argument has the format that the function event returns.
func until(w *trial.Watch, last string) []trial.Object {
	var events []trial.Object
	for {
		e := w.Next(eventTimeout)
		if event(e) == last {
			return events
		}
		events = append(events, e)
	}
}

// own is a label selector for the objects that cases create. It excludes objects that controllers make.
const own = "labelSelector=" + trial.LabelCase

// lists has the cases about reading collections.
var lists = sourced(concepts+"Retrieving large results sets in chunks", []trial.Test{
	{
		ID: "list.kind", Promise: "A list has the kind of its items with the suffix List, a resourceVersion, and its items in the order of their names.",
		Run: func(t *trial.T) {
			three(t)
			list := t.List(trial.ConfigMaps, own).OK()
			t.Equal("kind", "ConfigMapList", list["kind"])
			t.True(list.Version() != "", "a resourceVersion", "none")
			t.Equal("the names", []string{"a", "b", "c"}, names(list))
		},
	},
	{
		ID: "list.limit", Promise: "A list with a limit has at most that many items, and a continue token if there are more; the chunks together are the list.",
		Run: func(t *trial.T) {
			for i := range 5 {
				t.Create(trial.ConfigMaps, t.ConfigMap(fmt.Sprintf("c%d", i))).OK()
			}
			all, token, version := []string{}, "", ""
			for range 5 {
				query := []string{own, "limit=2"}
				if token != "" {
					query = append(query, "continue="+token)
				}
				list := t.List(trial.ConfigMaps, query...).OK()
				t.True(len(list.List("items")) <= 2, "at most two items", fmt.Sprint(len(list.List("items"))))
				if version != "" {
					t.Equal("resourceVersion of the next chunk", version, list.Version())
				}
				version = list.Version()
				all = append(all, names(list)...)
				if token = list.Text("metadata.continue"); token == "" {
					break
				}
			}
			t.Equal("the names", []string{"c0", "c1", "c2", "c3", "c4"}, all)
		},
	},
	{
		ID: "list.snapshot", Promise: "The chunks of a list are of one snapshot: an object created after the first chunk isn't in a later one.",
		Run: func(t *trial.T) {
			three(t)
			list := t.List(trial.ConfigMaps, own, "limit=1").OK()
			t.Create(trial.ConfigMaps, t.ConfigMap("b2")).OK()
			t.Delete(trial.ConfigMaps, "c", nil).OK()
			t.Equal("the rest", []string{"b", "c"}, names(t.List(trial.ConfigMaps, own, "continue="+list.Text("metadata.continue")).OK()))
		},
	},
	{
		ID: "list.remaining", Promise: "remainingItemCount, where it is given, is the number of items that follow.",
		Run: func(t *trial.T) {
			three(t)
			t.NewNamespace(t.Name("counted"), nil)
			counted := trial.Secrets.In(t.Name("counted"))
			for _, name := range []string{"a", "b", "c"} {
				t.Create(counted, t.Object(trial.Secrets, name)).OK()
			}
			list := t.List(counted, "limit=1").OK()
			if list.Has("metadata.remainingItemCount") {
				t.Equal("remainingItemCount", 2, list.At("metadata.remainingItemCount"))
			}
		},
	},
	{
		ID: "list.badToken", Promise: "A continue token that the server didn't give is refused with 400.",
		Run: func(t *trial.T) {
			t.List(trial.ConfigMaps, "limit=1", "continue=nonsense").Refused(http.StatusBadRequest)
		},
	},
	{
		ID: "list.labels", Promise: "A label selector selects by equality, by sets and by existence.", Source: "Labels and Selectors, API",
		Run: func(t *trial.T) {
			for name, value := range map[string]string{"a": "x", "b": "y", "c": "z"} {
				t.Create(trial.ConfigMaps, t.ConfigMap(name).WithLabel("l", value)).OK()
			}
			t.Create(trial.ConfigMaps, t.ConfigMap("d")).OK()
			for selector, want := range map[string][]string{"l=x": {"a"}, "l!=x": {"b", "c", "d"}, "l in (x,y)": {"a", "b"}, "l notin (x,y)": {"c", "d"}, "l": {"a", "b", "c"}, "!l": {"d"}, "l=x,l=y": {}} {
				t.Equal(selector, want, names(t.List(trial.ConfigMaps, own+","+selector).OK()))
			}
			t.List(trial.ConfigMaps, "labelSelector=a b").Refused(http.StatusBadRequest)
		},
	},
	{
		ID: "list.fields", Promise: "A field selector can use metadata.name and metadata.namespace; an unknown field is refused with 400.", Source: "Field Selectors, Supported fields",
		Run: func(t *trial.T) {
			three(t)
			t.Equal("metadata.name=b", []string{"b"}, names(t.List(trial.ConfigMaps, "fieldSelector=metadata.name=b").OK()))
			t.Equal("metadata.name!=b", []string{"a", "c"}, names(t.List(trial.ConfigMaps, own, "fieldSelector=metadata.name!=b").OK()))
			t.List(trial.ConfigMaps, "fieldSelector=data.key=b").Refused(http.StatusBadRequest)
		},
	},
	{
		ID: "list.allNamespaces", Promise: "A list without a namespace has the objects of all namespaces.", Source: concepts + "Resource URIs",
		Run: func(t *trial.T) {
			t.NewNamespace(t.Name("other"), nil)
			t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Create(trial.ConfigMaps.In(t.Name("other")), t.ConfigMap("b")).OK()
			list := t.Do(trial.Request{Verb: http.MethodGet, Path: "/api/v1/configmaps", Query: []string{own + "=" + t.Namespace()}}).OK()
			all := names(list)
			slices.Sort(all) // the order is that of the namespaces' names
			t.Equal("the names", []string{"a", "b"}, all)
		},
	},
	{
		ID: "list.fresh", Promise: "A list without a resourceVersion has every write that was answered before it.", Source: concepts + "Semantics for get and list",
		Run: func(t *trial.T) {
			for i := range 10 {
				t.Create(trial.ConfigMaps, t.ConfigMap(fmt.Sprintf("c%d", i))).OK()
				t.Equal("items", i+1, len(t.List(trial.ConfigMaps, own).OK().List("items")))
			}
		},
	},
	{
		ID: "list.notOlderThan", Promise: "A list with a resourceVersion is at least as new as that version.", Source: concepts + "Semantics for get and list",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Equal("the names", []string{"a"}, names(t.List(trial.ConfigMaps, own, "resourceVersion="+o.Version(), "resourceVersionMatch=NotOlderThan").OK()))
		},
	},
	{
		ID: "list.exact", Promise: "resourceVersionMatch=Exact returns the state at that version.", Source: concepts + "Semantics for get and list",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Create(trial.ConfigMaps, t.ConfigMap("b")).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			t.Equal("the names", []string{"a"}, names(t.List(trial.ConfigMaps, own, "resourceVersion="+o.Version(), "resourceVersionMatch=Exact").OK()))
		},
	},
})

func names(list trial.Object) []string {
	all := []string{}
	for _, o := range list.Objects("items") {
		all = append(all, o.Name())
	}
	return all
}

// event returns a text with the type of an event and the name of its object, for comparisons.
func event(e trial.Object) string { return e.Text("type") + " " + e.Text("object.metadata.name") }

// watches has the cases about watches.
var watches = sourced(concepts+"Efficient detection of changes", []trial.Test{
	{
		ID: "watch.order", Promise: "A watch from a resourceVersion sends every later change, in order: ADDED, MODIFIED and DELETED, with the object.",
		Run: func(t *trial.T) {
			version := t.List(trial.ConfigMaps, own).OK().Version()
			w := t.Watch(trial.ConfigMaps, own, "resourceVersion="+version)
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Update(trial.ConfigMaps, o.With("data.key", "new")).OK()
			t.Create(trial.ConfigMaps, t.ConfigMap("b")).OK()
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			t.Create(trial.ConfigMaps, t.ConfigMap("end")).OK()
			var seen []string
			for _, e := range until(w, "ADDED end") {
				seen = append(seen, event(e))
				if e["type"] == "MODIFIED" {
					t.Equal("data.key of the event", "new", e.At("object.data.key"))
				}
			}
			t.Equal("the events", []string{"ADDED a", "MODIFIED a", "ADDED b", "DELETED a"}, seen)
		},
	},
	{
		ID: "watch.continuity", Promise: "A watch from the resourceVersion of a list gets every change after the list, even a change before the watch begins.",
		Run: func(t *trial.T) {
			version := t.List(trial.ConfigMaps, own).OK().Version()
			var want, seen []string
			for i := range 30 {
				name := fmt.Sprintf("c%02d", i)
				want = append(want, "ADDED "+name)
				t.Create(trial.ConfigMaps, t.ConfigMap(name)).OK()
			}
			t.Create(trial.ConfigMaps, t.ConfigMap("end")).OK()
			for _, e := range until(t.Watch(trial.ConfigMaps, own, "resourceVersion="+version), "ADDED end") {
				seen = append(seen, event(e))
			}
			t.Equal("the events", want, seen)
		},
	},
	{
		ID: "watch.versions", Promise: "An event has the resourceVersion of its change, which a list and a watch can start from.",
		Run: func(t *trial.T) {
			w := t.Watch(trial.ConfigMaps, own, "resourceVersion="+t.List(trial.ConfigMaps, own).OK().Version())
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Create(trial.ConfigMaps, t.ConfigMap("b")).OK()
			first := w.Next(eventTimeout)
			t.Equal("resourceVersion of the event", o.Version(), first.Text("object.metadata.resourceVersion"))
			again := t.Watch(trial.ConfigMaps, own, "resourceVersion="+first.Text("object.metadata.resourceVersion"))
			t.Equal("the next event", "ADDED b", event(again.Next(eventTimeout)))
		},
	},
	{
		ID: "watch.initial", Promise: "A watch without a resourceVersion begins with an ADDED event for each existing object.",
		Run: func(t *trial.T) {
			three(t)
			w := t.Watch(trial.ConfigMaps, own)
			seen := []string{event(w.Next(eventTimeout)), event(w.Next(eventTimeout)), event(w.Next(eventTimeout))}
			slices.Sort(seen)
			t.Equal("the events", []string{"ADDED a", "ADDED b", "ADDED c"}, seen)
		},
	},
	{
		ID: "watch.selector", Promise: "An object that begins to match the selector is ADDED, and one that ceases to match is DELETED.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			w := t.Watch(trial.ConfigMaps, own+",opt=in", "resourceVersion="+o.Version())
			o = t.Update(trial.ConfigMaps, o.WithLabel("opt", "in")).OK()
			t.Equal("the event", "ADDED a", event(w.Next(eventTimeout)))
			t.Update(trial.ConfigMaps, o.WithLabel("opt", "out")).OK()
			t.Equal("the event", "DELETED a", event(w.Next(eventTimeout)))
		},
	},
	{
		ID: "watch.fields", Promise: "A field selector selects the events of a single object.",
		Run: func(t *trial.T) {
			w := t.Watch(trial.ConfigMaps, "fieldSelector=metadata.name=b", "resourceVersion="+t.List(trial.ConfigMaps).OK().Version())
			three(t)
			t.Equal("the event", "ADDED b", event(w.Next(eventTimeout)))
		},
	},
	{
		ID: "watch.deleted", Promise: "A DELETED event has the last state of the object.",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "last")).OK()
			w := t.Watch(trial.ConfigMaps, own, "resourceVersion="+o.Version())
			t.Delete(trial.ConfigMaps, "a", nil).OK()
			e := w.Next(eventTimeout)
			t.Equal("the event", "DELETED a", event(e))
			t.Equal("data of the event", trial.Object{"key": "last"}, e.At("object.data"))
		},
	},
	{
		ID: "watch.timeout", Promise: "timeoutSeconds ends the watch.", Cost: 2 * time.Second,
		Run: func(t *trial.T) { t.Watch(trial.ConfigMaps, own, "timeoutSeconds=1").Ended(eventTimeout) },
	},
	{
		ID: "watch.badVersion", Promise: "A watch from a resourceVersion that the server can't have given is refused.",
		Run: func(t *trial.T) {
			code := t.Watch(trial.ConfigMaps, "resourceVersion=nonsense").Code
			t.True(code >= http.StatusBadRequest, "a code of 400 or more", fmt.Sprint(code))
		},
	},
	{
		ID: "watch.bookmarks", Promise: "A watch with sendInitialEvents has the state first, and then a bookmark with the annotation k8s.io/initial-events-end.", Source: concepts + "Streaming lists",
		Needs: []trial.Need{trial.Since(34)},
		Run: func(t *trial.T) {
			three(t)
			w := t.Watch(trial.ConfigMaps, own, "sendInitialEvents=true", "allowWatchBookmarks=true", "resourceVersionMatch=NotOlderThan")
			seen := []string{event(w.Next(eventTimeout)), event(w.Next(eventTimeout)), event(w.Next(eventTimeout))}
			slices.Sort(seen)
			t.Equal("the events", []string{"ADDED a", "ADDED b", "ADDED c"}, seen)
			e := w.Next(eventTimeout)
			t.Equal("the type of the next event", "BOOKMARK", e["type"])
			t.Equal("its annotation", "true", e.Sub("object.metadata.annotations")["k8s.io/initial-events-end"])
			t.True(e.Text("object.metadata.resourceVersion") != "", "a resourceVersion", "none")
		},
	},
	{
		ID: "watch.mutated", Promise: "An event has the object as admission has left it.", Source: dynamic + "What are admission webhooks?",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/data/added", "yes"))))
			w := t.Watch(trial.ConfigMaps, own, "resourceVersion="+t.List(trial.ConfigMaps).OK().Version())
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Equal("data.added of the event", "yes", w.Next(eventTimeout).At("object.data.added"))
		},
	},
})

// formats has the cases about the media types and forms of answers that a client can request, and about discovery and
// OpenAPI documents.
var formats = sourced(concepts+"Receiving resources as Tables", []trial.Test{
	{
		ID: "format.table", Promise: "A list can be a Table, with columns, and a row for each object.",
		Run: func(t *trial.T) {
			three(t)
			a := t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, ""), Query: []string{own}, Header: accept("application/json;as=Table;v=v1;g=meta.k8s.io")})
			t.Equal("kind", "Table", a.OK()["kind"])
			t.Equal("rows", 3, len(a.Object.List("rows")))
			t.True(len(a.Object.List("columnDefinitions")) > 0, "columns", "none")
		},
	},
	{
		ID: "format.metadata", Promise: "A list can have only the metadata of its objects.",
		Run: func(t *trial.T) {
			three(t)
			a := t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, ""), Query: []string{own}, Header: accept("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")})
			t.Equal("kind", "PartialObjectMetadataList", a.OK()["kind"])
			for _, o := range a.Object.Objects("items") {
				t.True(!o.Has("data"), "no data", "data")
				t.True(o.Text("metadata.uid") != "", "a uid", "none")
			}
		},
	},
	{
		ID: "format.protobuf", Promise: "An object of a built-in kind can be read as protobuf.", Source: concepts + "Alternate representations of resources",
		Run: func(t *trial.T) {
			three(t)
			a := t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, "a"), Header: accept("application/vnd.kubernetes.protobuf")})
			t.Equal("the code", http.StatusOK, a.Code)
			t.Equal("content type", "application/vnd.kubernetes.protobuf", a.Header.Get("Content-Type"))
			t.True(strings.HasPrefix(string(a.Body), "k8s\x00"), `a body that begins with "k8s"`, fmt.Sprintf("%.10q", a.Body))
		},
	},
	{
		ID: "format.unknown", Promise: "A request for a representation that the server doesn't have is answered with 406.", Source: concepts + "Alternate representations of resources",
		Run: func(t *trial.T) {
			t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, ""), Header: accept("text/csv")}).Refused(http.StatusNotAcceptable)
		},
	},
	{
		ID: "format.yaml", Promise: "An object can be sent and read as YAML.", Source: concepts + "Alternate representations of resources",
		Run: func(t *trial.T) {
			t.Do(trial.Request{Verb: http.MethodPost, Path: t.Path(trial.ConfigMaps, ""), Type: "application/yaml", Body: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: value\n")}).OK()
			a := t.Do(trial.Request{Verb: http.MethodGet, Path: t.Path(trial.ConfigMaps, "a"), Header: accept("application/yaml")})
			t.Contains("the body", "key: value", string(a.Body))
		},
	},
	{
		ID: "format.discovery", Promise: "Discovery lists every resource with kind, scope and verbs, and its parts agree.", Source: concepts + "API Discovery",
		Run: func(t *trial.T) {
			list := t.Do(trial.Request{Verb: http.MethodGet, Path: "/api/v1"}).OK()
			t.Equal("kind", "APIResourceList", list["kind"])
			for _, r := range list.Objects("resources") {
				t.True(r.Text("kind") != "" && len(r.List("verbs")) > 0, "kind and verbs of "+r.Text("name"), fmt.Sprint(r))
			}
			aggregated := t.Do(trial.Request{Verb: http.MethodGet, Path: "/apis", Header: accept("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json")}).OK()
			t.Equal("kind of aggregated discovery", "APIGroupDiscoveryList", aggregated["kind"])
		},
	},
	{
		ID: "format.openapi", Promise: "The server publishes OpenAPI v3 documents of its groups.", Source: concepts + "API Discovery",
		Run: func(t *trial.T) {
			root := t.Do(trial.Request{Verb: http.MethodGet, Path: "/openapi/v3"}).OK()
			t.True(root.At("paths.api/v1") != nil, "the path api/v1", "it isn't there")
		},
	},
	{
		ID: "format.openapi.resources", Promise: "The OpenAPI v3 document of each group and version has a path for each of its resources and subresources in discovery.", Source: concepts + "API Discovery", Cost: 2 * time.Second,
		Run: func(t *trial.T) {
			root := t.Do(trial.Request{Verb: http.MethodGet, Path: "/openapi/v3"}).OK()
			paths := map[string]trial.Object{}
			for _, r := range t.Server.Resources {
				prefix := "apis/" + r.GroupVersion()
				if r.Group == "" {
					prefix = "api/" + r.Version
				}
				// Another run may define or remove a custom resource at the same time.
				if strings.HasPrefix(r.Group, trial.Prefix) {
					continue
				}
				if paths[prefix] == nil {
					relative, _ := root.Sub("paths")[prefix].(map[string]any)
					if !t.True(relative != nil, "a document of "+prefix, "none") {
						paths[prefix] = trial.Object{}
						continue
					}
					url := trial.Object(relative).Text("serverRelativeURL")
					file, query, _ := strings.Cut(url, "?")
					paths[prefix] = t.Do(trial.Request{Verb: http.MethodGet, Path: file, Query: []string{query}}).OK().Sub("paths")
				}
				path := "/" + prefix + "/"
				if r.Namespaced {
					path += "namespaces/{namespace}/"
				}
				path += r.Name
				if r.Subresource != "" {
					path += "/{name}/" + r.Subresource
				}
				t.True(paths[prefix][path] != nil, "the path "+path, "none")
			}
		},
	},
	{
		ID: "format.openapi.unserved", Promise: "A group or version that isn't served has no OpenAPI document: the answer is 404.", Source: concepts + "API Discovery",
		Run: func(t *trial.T) {
			for _, path := range []string{"apis/conformance.invalid/v1", "api/v9", "apis/apps/v9"} {
				t.Do(trial.Request{Verb: http.MethodGet, Path: "/openapi/v3/" + path}).Refused(http.StatusNotFound)
			}
		},
	},
})

func accept(mediaType string) http.Header { return http.Header{"Accept": {mediaType}} }
