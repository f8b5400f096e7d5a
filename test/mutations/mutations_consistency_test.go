package mutations_test

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// For each mutation, the cases of the suite of consistency in caughtBy fail. Without a mutation, they pass.
func TestConsistencyMutations(t *testing.T) {
	t.Parallel()
	good := &backend{config: miniapitest.Start(t).Config()}
	run := func(t *testing.T, m *mutation, seed uint64) conformance.Results {
		t.Helper()
		config := m.target(t, good).Config
		config.DisableCompression = true // the proxy changes plain JSON
		results, history, err := consistency.Run(t.Context(), consistency.Options{
			Configs: []*rest.Config{config}, Seed: seed, Duration: time.Minute, Writes: 500, Writers: 4, Readers: 3,
			Watchers: 8, Patience: 3 * time.Second,
			NamespacePatience: time.Millisecond, // the good server has no controllers
		}, conformance.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("covered:\n%s", history.Coverage())
		return results
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		for _, r := range run(t, &mutation{}, 1) {
			if r.Status == conformance.Failed {
				t.Errorf("%s: want it to pass on a good server, got %v", r.ID, r.Findings)
			}
		}
	})
	for _, m := range consistencyMutations() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			missing := strings.Fields(m.caughtBy)
			for seed := range uint64(5) { // a run on a busy machine may never make the request that the mutation changes
				results := run(t, &m, seed+1)
				missing = slices.DeleteFunc(missing, func(id string) bool {
					return slices.ContainsFunc(results, func(r conformance.Result) bool { return r.ID == id && r.Status == conformance.Failed })
				})
				if len(missing) == 0 {
					return
				}
			}
			t.Errorf("the server %s: want the cases %s to fail", m.name, missing)
		})
	}
}

// Each case of the suite of consistency fails for at least one mutation.
func TestEachConsistencyCaseHasAMutation(t *testing.T) {
	t.Parallel()
	var caught []string
	for _, m := range consistencyMutations() {
		caught = append(caught, strings.Fields(m.caughtBy)...)
	}
	for _, c := range consistency.Cases(nil) {
		if !slices.Contains(caught, c.ID) {
			t.Errorf("case %s: want a mutation that breaks its promise", c.ID)
		}
	}
}

// sometimes returns a function that returns true at every n-th call.
func sometimes(n int64) func() bool {
	var calls atomic.Int64
	return func() bool { return calls.Add(1)%n == 0 }
}

// ofObjects reports whether a request is for an object of the run, or for the objects of its namespace.
func ofObjects(r *http.Request) bool {
	return strings.Contains(r.URL.Path, "-consistency/") && !r.URL.Query().Has("watch")
}

func isObject(r *http.Request) bool {
	return ofObjects(r) && strings.HasPrefix(path.Base(strings.TrimSuffix(r.URL.Path, "/status")), "o-")
}

// changed returns a mutation that changes the objects in answers to the requests for which selects is true.
func changed(selects func(*http.Request) bool, change func(object)) func(*http.Response) {
	return func(r *http.Response) {
		if selects(r.Request) && r.StatusCode < http.StatusBadRequest {
			setBody(r, edited(readAll(r.Body), change))
		}
	}
}

// lists returns a function that tells whether a request lists objects of the run, with a query that holds.
func lists(holds func(url.Values) bool) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodGet && ofObjects(r) && !isObject(r) && holds(r.URL.Query())
	}
}

func recent(v url.Values) bool { return !v.Has("resourceVersion") }

// written returns a function that tells whether a request writes an object of the run by a verb.
func written(verb string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == verb && ofObjects(r) }
}

// stale returns a mutation that gives old answers to requests for which selects is true.
func stale(selects func(*http.Request) bool) func(*http.Response) {
	var mu sync.Mutex
	old := map[string][]byte{}
	return func(r *http.Response) {
		if !selects(r.Request) || r.StatusCode != http.StatusOK {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		body, has := old[r.Request.URL.Path]
		if !has {
			body = readAll(r.Body)
			old[r.Request.URL.Path] = body
		}
		setBody(r, body)
	}
}

// revised adds a number to the resourceVersion of an object or a list.
func revised(o object, add int) {
	metadata := at(o, "metadata")
	text, _ := metadata["resourceVersion"].(string)
	revision, _ := strconv.Atoi(text)
	metadata["resourceVersion"] = strconv.Itoa(max(revision+add, 1))
}

// change tells whether an event is a change of an object of the run.
func isChange(event object) bool {
	return event["type"] != "BOOKMARK" && strings.HasPrefix(name(at(event, "object")), "o-")
}

// perWatch returns a mutation that replaces each change in a watch by other events. start returns the function that
// replaces the changes of a watch.
func perWatch(start func() func(change object) []object) func(*http.Response) {
	return func(r *http.Response) {
		replace := start()
		onEventLists(func(event object) []object {
			if !isChange(event) {
				return []object{event}
			}
			return replace(event)
		})(r)
	}
}

// onBookmarks returns a mutation that changes the objects of bookmarks.
func onBookmarks(change func(bookmark object)) func(*http.Response) {
	return onEvents(func(event object) object {
		if event["type"] == "BOOKMARK" {
			change(at(event, "object"))
		}
		return event
	})
}

func consistencyMutations() []mutation {
	loses := sometimes(5)
	return []mutation{
		{
			name: "loses some patches", caughtBy: "object.linearizable",
			request: func(r *http.Request) {
				if r.Method == http.MethodPatch && isObject(r) && loses() {
					r.URL.RawQuery += "&dryRun=All"
				}
			},
		},
		{name: "answers some gets from a cache", caughtBy: "object.linearizable", response: stale(func(r *http.Request) bool {
			return r.Method == http.MethodGet && isObject(r) && recent(r.URL.Query())
		})},
		{name: "ignores preconditions of updates", caughtBy: "object.linearizable", request: onBodies(http.MethodPut, "-consistency/", func(o object) {
			delete(at(o, "metadata"), "resourceVersion")
			delete(at(o, "metadata"), "uid")
		})},
		{name: "ignores preconditions of deletes", caughtBy: "object.linearizable", request: onBodies(http.MethodDelete, "-consistency/", func(o object) {
			delete(o, "preconditions")
		})},
		{name: "refuses writes that it has made", caughtBy: "object.linearizable watch.real", response: func(r *http.Response) {
			if written(http.MethodPut)(r.Request) && r.StatusCode == http.StatusOK {
				r.StatusCode = http.StatusForbidden
				setBody(r, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
			}
		}},
		{name: "gives writes old resource versions", caughtBy: "object.linearizable object.revisions",
			response: changed(written(http.MethodPatch), func(o object) { revised(o, -30) })},
		{name: "answers gets at resourceVersion 0 with versions that never were", caughtBy: "get.cached", response: changed(
			func(r *http.Request) bool { return isObject(r) && r.URL.Query().Get("resourceVersion") == "0" }, func(o object) { revised(o, 1) })},
		{name: "lacks an object in lists", caughtBy: "list.snapshot", response: changed(lists(func(url.Values) bool { return true }), func(o object) {
			if all, _ := o["items"].([]any); len(all) > 0 {
				o["items"] = all[1:]
			}
		})},
		{name: "gives lists an old version of an object", caughtBy: "list.snapshot", response: changed(lists(func(v url.Values) bool { return v.Has("resourceVersion") }), func(o object) {
			for _, item := range items(o) {
				revised(item, -1)
			}
		})},
		{name: "answers lists from a cache", caughtBy: "list.recent object.linearizable",
			response: stale(lists(func(v url.Values) bool { return recent(v) && !v.Has("limit") }))},
		{name: "takes a later page from a later resourceVersion", caughtBy: "list.pages",
			response: changed(lists(func(v url.Values) bool { return v.Has("continue") }), func(o object) { revised(o, 1) })},
		{name: "ignores the resourceVersion of lists", caughtBy: "list.asked", request: func(r *http.Request) {
			if r.URL.Query().Get("resourceVersionMatch") == "Exact" {
				query(http.MethodGet, dropped("resourceVersionMatch"))(r)
				query(http.MethodGet, dropped("resourceVersion"))(r)
			}
		}},
		{name: "reorders events", caughtBy: "watch.order", response: perWatch(func() func(object) []object {
			var held object
			return func(change object) []object {
				if held == nil && name(at(change, "object")) != "o-last" {
					held = change
					return nil
				}
				swapped := []object{change}
				if held != nil {
					swapped = append(swapped, held)
				}
				held = nil
				return swapped
			}
		})},
		{name: "repeats events", caughtBy: "watch.unique", response: perWatch(func() func(object) []object {
			repeats := sometimes(10)
			return func(change object) []object {
				if repeats() {
					return []object{change, change}
				}
				return []object{change}
			}
		})},
		{name: "drops events", caughtBy: "watch.complete watch.resumed", response: perWatch(func() func(object) []object {
			drops := sometimes(10)
			return func(change object) []object {
				if drops() {
					return nil
				}
				return []object{change}
			}
		})},
		{name: "drops the last event", caughtBy: "watch.last", response: perWatch(func() func(object) []object {
			return func(change object) []object {
				if name(at(change, "object")) == "o-last" {
					return nil
				}
				return []object{change}
			}
		})},
		{name: "invents events", caughtBy: "watch.real", response: perWatch(func() func(object) []object {
			invents := sometimes(10)
			return func(change object) []object {
				if !invents() {
					return []object{change}
				}
				return []object{change, {"type": "ADDED", "object": object{"metadata": object{
					"name": "o-invented", "uid": "none", "resourceVersion": at(change, "object", "metadata")["resourceVersion"],
				}}}}
			}
		})},
		{name: "calls each change a modification", caughtBy: "watch.real", response: perWatch(func() func(object) []object {
			return func(change object) []object {
				if change["type"] == "ADDED" {
					change["type"] = "MODIFIED"
				}
				return []object{change}
			}
		})},
		{name: "sends bookmarks too early", caughtBy: "watch.bookmarks", response: onBookmarks(func(o object) { revised(o, 100_000) })},
		{name: "lacks an initial event", caughtBy: "watch.initialEvents", response: perWatch(func() func(object) []object {
			first := true
			return func(change object) []object {
				if first {
					first = false
					return nil
				}
				return []object{change}
			}
		})},
		{name: "no longer has the changes since no resourceVersion", caughtBy: "watch.expired", response: func(r *http.Response) {
			if v := r.Request.URL.Query(); v.Has("sendInitialEvents") && !v.Has("resourceVersion") {
				r.StatusCode = http.StatusGone
				setBody(r, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`))
			}
		}},
	}
}
