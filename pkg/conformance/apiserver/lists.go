package apiserver

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// own is a label selector for the objects that cases create. It excludes objects that controllers make.
const own = "labelSelector=" + trial.LabelCase

// lists has the cases about reading collections.
var lists = sourced(concepts+"Retrieving large results sets in chunks", []trial.Test{
	{
		ID:      "list.kind",
		Promise: "A list has the kind of its items with the suffix List, a resourceVersion, and its items in the order of their names.",
		Run: func(t *trial.T) {
			three(t)
			list := t.List(trial.ConfigMaps, own).OK()
			t.Equal("kind", "ConfigMapList", list["kind"])
			t.True(list.Version() != "", "a resourceVersion", "none")
			t.Equal("the names", []string{"a", "b", "c"}, names(list))
		},
	},
	{
		ID:      "list.limit",
		Promise: "A list with a limit has at most that many items, and a continue token if there are more; the chunks together are the list.",
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
		ID:      "list.snapshot",
		Promise: "The chunks of a list are of one snapshot: an object created after the first chunk isn't in a later one.",
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
		ID:      "list.fields",
		Promise: "A field selector can use metadata.name and metadata.namespace; an unknown field is refused with 400.",
		Source:  "Field Selectors, Supported fields",
		Run: func(t *trial.T) {
			three(t)
			t.Equal("metadata.name=b", []string{"b"}, names(t.List(trial.ConfigMaps, "fieldSelector=metadata.name=b").OK()))
			t.Equal("metadata.name!=b", []string{"a", "c"}, names(t.List(trial.ConfigMaps, own, "fieldSelector=metadata.name!=b").OK()))
			t.List(trial.ConfigMaps, "fieldSelector=data.key=b").Refused(http.StatusBadRequest)
		},
	},
	{
		ID: "list.allNamespaces", Promise: "A list without a namespace has the objects of all namespaces.",
		Source: concepts + "Resource URIs",
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
		ID: "list.fresh", Promise: "A list without a resourceVersion has every write that was answered before it.",
		Source: concepts + "Semantics for get and list",
		Run: func(t *trial.T) {
			for i := range 10 {
				t.Create(trial.ConfigMaps, t.ConfigMap(fmt.Sprintf("c%d", i))).OK()
				t.Equal("items", i+1, len(t.List(trial.ConfigMaps, own).OK().List("items")))
			}
		},
	},
	{
		ID: "list.notOlderThan", Promise: "A list with a resourceVersion is at least as new as that version.",
		Source: concepts + "Semantics for get and list",
		Run: func(t *trial.T) {
			o := t.Create(trial.ConfigMaps, t.ConfigMap("a")).OK()
			t.Equal("the names", []string{"a"}, names(t.List(trial.ConfigMaps, own, "resourceVersion="+o.Version(), "resourceVersionMatch=NotOlderThan").OK()))
		},
	},
	{
		ID: "list.exact", Promise: "resourceVersionMatch=Exact returns the state at that version.",
		Source: concepts + "Semantics for get and list",
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
