package apiserver

import (
	"fmt"
	"net/http"
	"slices"
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

// event returns a text with the type of an event and the name of its object, for comparisons.
func event(e trial.Object) string { return e.Text("type") + " " + e.Text("object.metadata.name") }

// watches has the cases about watches.
var watches = sourced(concepts+"Efficient detection of changes", []trial.Test{
	{
		ID:      "watch.order",
		Promise: "A watch from a resourceVersion sends every later change, in order: ADDED, MODIFIED and DELETED, with the object.",
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
		ID:      "watch.continuity",
		Promise: "A watch from the resourceVersion of a list gets every change after the list, even a change before the watch begins.",
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
		ID:      "watch.bookmarks",
		Promise: "A watch with sendInitialEvents has the state first, and then a bookmark with the annotation k8s.io/initial-events-end.",
		Source:  concepts + "Streaming lists",
		Needs:   []trial.Need{trial.Since(34)},
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
		ID: "watch.mutated", Promise: "An event has the object as admission has left it.",
		Source: dynamic + "What are admission webhooks?",
		Run: func(t *trial.T) {
			t.Install(trial.Mutating("hook", trial.Patch(trial.Add("/data/added", "yes"))))
			w := t.Watch(trial.ConfigMaps, own, "resourceVersion="+t.List(trial.ConfigMaps).OK().Version())
			t.Create(trial.ConfigMaps, t.ConfigMap("a", "key", "value")).OK()
			t.Equal("data.added of the event", "yes", w.Next(eventTimeout).At("object.data.added"))
		},
	},
})
