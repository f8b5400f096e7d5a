package consistency_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/consistency"
)

const (
	resource = "configmaps"
	name     = "o-0-0"
	last     = "o-last"
)

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// at returns a version of the object that has the texts of writes.
func at(revision uint64, uid string, texts ...string) consistency.Version {
	v := consistency.Version{Revision: revision, UID: uid}
	for i, field := range []*string{&v.Content.Value, &v.Content.Applied, &v.Content.Status} {
		if i < len(texts) {
			*field = texts[i]
		}
	}
	return v
}

// The versions of the object in the right history, and the last object.
var (
	created   = at(10, "a", "1")
	updated   = at(11, "a", "2")
	patched   = at(12, "a", "3")
	removed   = at(13, "a", "3")
	recreated = at(14, "b", "", "4")
	final     = at(15, "c", "5")
)

func event(kind, of string, v consistency.Version, at int) consistency.Event {
	return consistency.Event{At: ms(at), Type: kind, Name: of, Version: v}
}

// The events of the right history.
func events() []consistency.Event {
	return []consistency.Event{
		event("ADDED", name, created, 2), event("MODIFIED", name, updated, 4), event("MODIFIED", name, patched, 7),
		event("DELETED", name, removed, 9), event("ADDED", name, recreated, 12),
		{At: ms(13), Type: "BOOKMARK", Version: consistency.Version{Revision: 14}},
		event("ADDED", last, final, 21),
	}
}

// right returns a history of a server that keeps all promises: a patch has no answer, but an effect.
func right() *consistency.History {
	operation := func(verb, text string, call int, outcome consistency.Outcome, returned consistency.Version) consistency.Operation {
		o := consistency.Operation{Verb: verb, Resource: resource, Name: name, Text: text, Call: ms(call), Return: ms(call + 1), Outcome: outcome, Returned: returned}
		o.Sent.Value = text
		return o
	}
	list := func(mode string, call int, asked uint64, revisions []uint64, items ...consistency.Version) consistency.List {
		l := consistency.List{Mode: mode, Resource: resource, Asked: asked, Call: ms(call), Return: ms(call + 1), Outcome: consistency.OK, Revisions: revisions}
		for _, v := range items {
			l.Items = append(l.Items, consistency.Item{Name: name, Version: v})
		}
		return l
	}
	streamed := slices.Concat([]consistency.Event{
		event("ADDED", name, updated, 5), {At: ms(5), Type: "BOOKMARK", Version: consistency.Version{Revision: 11}, InitialEnd: true},
	}, events()[2:])
	h := &consistency.History{
		RequestTimeout: ms(5),
		Operations: []consistency.Operation{
			operation(consistency.Create, "1", 1, consistency.OK, created),
			operation(consistency.Create, "x", 1, consistency.Exists, consistency.Version{}),
			operation(consistency.Update, "2", 3, consistency.OK, updated),
			operation(consistency.Update, "y", 4, consistency.Conflict, consistency.Version{}),
			operation(consistency.Patch, "3", 5, consistency.Unknown, consistency.Version{}),
			operation(consistency.CachedGet, "", 7, consistency.OK, updated),
			operation(consistency.Delete, "", 8, consistency.OK, consistency.Version{UID: "a"}),
			operation(consistency.Get, "", 10, consistency.NotFound, consistency.Version{}),
			operation(consistency.Apply, "4", 11, consistency.OK, recreated),
			operation(consistency.Get, "", 13, consistency.OK, recreated),
			operation(consistency.Create, "5", 20, consistency.OK, final),
		},
		Lists: []consistency.List{
			list(consistency.Recent, 4, 0, []uint64{11}, updated),
			list(consistency.Cached, 8, 0, []uint64{10}, created),
			list(consistency.Paged, 13, 0, []uint64{14, 14}, recreated),
			list(consistency.Exact, 14, 12, []uint64{12}, patched),
			list(consistency.NotOlder, 14, 11, []uint64{13}),
		},
		Watches: []consistency.Watch{
			{Resource: resource, Start: consistency.Resumed, From: 9, Steady: true, End: consistency.EndedByLast, Events: events()},
			{Resource: resource, Start: consistency.FromList, From: 10, Call: ms(3), End: consistency.EndedByClient,
				Events: events()[1:4]},
			{Resource: resource, Start: consistency.Resumed, From: 13, Call: ms(9), End: consistency.EndedByLast, Events: events()[4:]},
			{Resource: resource, Start: consistency.Streamed, Call: ms(4), End: consistency.EndedByLast, Events: streamed},
			{Resource: resource, Start: consistency.FromStart, From: 1, End: consistency.EndedByExpiry},
		},
	}
	h.Operations[3].Revision = 10
	h.Operations[10].Name = last
	return h
}

// failed returns the cases that fail for a history. No case is skipped, because the history has something for each.
func failed(t *testing.T, h *consistency.History) []string {
	t.Helper()
	results, err := conformance.Run(t.Context(), consistency.Cases(h), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, r := range results {
		switch r.Status {
		case conformance.Failed:
			ids = append(ids, r.ID)
		case conformance.Skipped:
			t.Errorf("%s is skipped: %s", r.ID, r.Reason)
		case conformance.Passed:
			if len(r.Findings) > 0 {
				t.Errorf("%s has the findings %v", r.ID, r.Findings)
			}
		}
	}
	return ids
}

// Exactly the cases fail whose promise a history breaks.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(h *consistency.History)
		fails        string
	}{
		{"right", "the server keeps all promises", func(*consistency.History) {}, ""},
		{"lost write", "an answered update isn't there for a later get", func(h *consistency.History) {
			h.Operations[9].Returned = at(14, "b", "", "")
		}, "object.linearizable"},
		{"stale get", "a version was replaced before the get began", func(h *consistency.History) {
			h.Operations[9].Returned = patched
		}, "object.linearizable"},
		{"deleted object", "the object exists, and a get doesn't find it", func(h *consistency.History) {
			h.Operations[9].Outcome = consistency.NotFound
		}, "object.linearizable"},
		{"ignored precondition", "the precondition of an update isn't met", func(h *consistency.History) {
			h.Operations[2].Revision = 9
		}, "object.linearizable"},
		{"ignored uid", "the precondition of a delete isn't met", func(h *consistency.History) {
			h.Operations[6].UID = "other"
		}, "object.linearizable"},
		{"conflict without a precondition", "an update without a resourceVersion has nothing to conflict with", func(h *consistency.History) {
			h.Operations[3].Revision = 0
		}, "object.linearizable"},
		{"exists without an object", "the object was deleted before", func(h *consistency.History) {
			h.Operations[1].Call, h.Operations[1].Return = ms(10), ms(11)
			h.Operations[8].Call = ms(12)
			h.Operations[8].Return = ms(12)
		}, "object.linearizable"},
		{"refused with an effect", "a refused write changes nothing", func(h *consistency.History) {
			h.Operations[4].Outcome = consistency.Refused
		}, "list.snapshot watch.real"},
		{"older resourceVersion", "the apply begins after the answer to the update", func(h *consistency.History) {
			h.Operations[8].Returned.Revision = 3
		}, "object.linearizable object.revisions list.snapshot watch.real"},
		{"version that never was", "no write has made the version", func(h *consistency.History) {
			h.Operations[5].Returned.Content.Value = "z"
		}, "get.cached"},
		{"list without an object", "the object exists at the resourceVersion", func(h *consistency.History) {
			h.Lists[3].Items = nil
		}, "list.snapshot"},
		{"list with an older version", "the list has a later resourceVersion", func(h *consistency.History) {
			h.Lists[1].Revisions[0] = 11
		}, "list.snapshot"},
		{"list with a deleted object", "the object doesn't exist at the resourceVersion", func(h *consistency.History) {
			h.Lists[4].Items = []consistency.Item{{Name: name, Version: patched}}
		}, "list.snapshot"},
		{"stale list", "the update was answered before", func(h *consistency.History) {
			h.Lists[0].Revisions, h.Lists[0].Items[0].Version = []uint64{10}, created
			h.Lists[0].Call = ms(5)
		}, "object.linearizable list.recent"},
		{"torn list", "the pages are of different resource versions", func(h *consistency.History) {
			h.Lists[2].Revisions[1] = 15
		}, "list.pages"},
		{"not exact", "the list is newer than the exact resourceVersion", func(h *consistency.History) {
			h.Lists[3].Asked = 11
		}, "list.asked"},
		{"too old", "the list is older than the resourceVersion", func(h *consistency.History) {
			h.Lists[4].Asked = 14
		}, "list.asked"},
		{"reordered", "an update comes after a later patch", func(h *consistency.History) {
			e := h.Watches[0].Events
			e[1], e[2] = e[2], e[1]
		}, "watch.order"},
		{"repeated", "a change comes twice", func(h *consistency.History) {
			h.Watches[1].Events = slices.Insert(h.Watches[1].Events, 1, h.Watches[1].Events[0])
		}, "watch.unique"},
		{"dropped", "a change between two others doesn't come", func(h *consistency.History) {
			h.Watches[1].Events = slices.Delete(h.Watches[1].Events, 1, 2)
		}, "watch.complete"},
		{"dropped at the resumption", "the first change after the resourceVersion doesn't come", func(h *consistency.History) {
			h.Watches[2].Events = h.Watches[2].Events[1:]
		}, "watch.resumed"},
		{"invented", "no client has made the change", func(h *consistency.History) {
			h.Watches[1].Events = append(h.Watches[1].Events, event("ADDED", "o-0-1", at(14, "z", "z"), 14))
		}, "watch.complete watch.real"},
		{"wrong type", "the object existed before", func(h *consistency.History) {
			h.Watches[1].Events[0].Type = "ADDED"
		}, "watch.real"},
		{"wrong object", "the object is the one before the change", func(h *consistency.History) {
			h.Watches[1].Events[0].Version.Content = created.Content
		}, "watch.real"},
		{"early bookmark", "a change up to the bookmark comes after it", func(h *consistency.History) {
			h.Watches[0].Events[5].Version.Revision = 15
		}, "watch.bookmarks"},
		{"bookmark that goes back", "later changes were there before", func(h *consistency.History) {
			h.Watches[0].Events[5].Version.Revision = 12
		}, "watch.bookmarks"},
		{"initial event missing", "the object exists at the resourceVersion of the bookmark", func(h *consistency.History) {
			h.Watches[3].Events = h.Watches[3].Events[1:]
		}, "watch.initialEvents"},
		{"old initial events", "the update was answered before the watch", func(h *consistency.History) {
			h.Watches[3].Events[0].Version, h.Watches[3].Events[1].Version.Revision = created, 10
			h.Watches[3].Events = slices.Insert(h.Watches[3].Events, 2, events()[1])
			h.Watches[3].Call = ms(5)
		}, "watch.initialEvents"},
		{"stuck", "a watch doesn't send the last write", func(h *consistency.History) {
			h.Watches[2].Events, h.Watches[2].End = h.Watches[2].Events[:1], consistency.Stuck
		}, "watch.last"},
		{"expired without a resourceVersion", "the watch asks for no old changes", func(h *consistency.History) {
			h.Watches[4].From = 0
		}, "watch.expired"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := right()
			test.change(h)
			if diff := cmp.Diff(strings.Fields(test.fails), failed(t, h)); diff != "" {
				t.Errorf("%s: failed cases (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// After a gap in the history, a write without an answer may have had an effect that nobody has seen.
func TestGap(t *testing.T) {
	t.Parallel()
	// The server is killed after the patch, and the deletion has no answer. The history of the server begins after it.
	killed := func() *consistency.History {
		h := right()
		h.Operations[6].Outcome = consistency.Unknown
		h.Operations[6].Returned = consistency.Version{}
		h.Watches[0].Events, h.Watches[0].End = h.Watches[0].Events[:3], consistency.EndedByConnection
		h.Watches[0].Client = 1
		h.Watches[1].Events = h.Watches[1].Events[:2]
		h.Watches[3].Events = h.Watches[3].Events[:3]
		h.Watches[3].End = consistency.EndedByConnection
		return h
	}
	again := consistency.List{Client: 1, Mode: consistency.Recent, Resource: resource, Call: ms(9), Return: ms(10), Outcome: consistency.OK, Revisions: []uint64{13}}
	for _, test := range []struct {
		name, reason string
		change       func(h *consistency.History)
	}{
		{"list, then a watch", "the list ends the gap", func(h *consistency.History) {
			h.Lists = append(h.Lists, again)
			h.Watches = append(h.Watches, consistency.Watch{Client: 1, Resource: resource, Start: consistency.FromList, From: 13, Steady: true, Call: ms(10), End: consistency.EndedByLast, Events: events()[4:]})
		}},
		{"list with the last write", "no watch follows the list", func(h *consistency.History) {
			h.Operations = slices.Delete(h.Operations, 7, 10)
			h.Lists = append(h.Lists[:2], h.Lists[3], consistency.List{
				Client: 2, Mode: consistency.Paged, Resource: resource, Call: ms(20), Return: ms(21), Outcome: consistency.OK, Revisions: []uint64{14, 14},
			}, consistency.List{
				Client: 1, Mode: consistency.Recent, Resource: resource, Call: ms(21), Return: ms(22), Outcome: consistency.OK, Revisions: []uint64{15},
				Items: []consistency.Item{{Name: last, Version: final}},
			})
			h.Watches[2].Events = events()[6:]
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := killed()
			test.change(h)
			if got := failed(t, h); len(got) > 0 {
				t.Errorf("%s: want the deletion to explain the history, got %v", test.reason, got)
			}
			h.Operations = slices.Delete(h.Operations, 6, 7)
			if got := failed(t, h); !slices.Contains(got, "object.linearizable") {
				t.Errorf("want the object not to vanish without a deletion, got %v", got)
			}
		})
	}
}

// A case without anything to check is skipped: it proves nothing.
func TestNothingToCheck(t *testing.T) {
	t.Parallel()
	results, err := conformance.Run(t.Context(), consistency.Cases(&consistency.History{}), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Status != conformance.Skipped {
			t.Errorf("%s: want it skipped, got %s", r.ID, r.Status)
		}
	}
}

// The coverage counts what the history has.
func TestCoverage(t *testing.T) {
	t.Parallel()
	h := right()
	h.Seed, h.Took, h.Faults = 42, time.Second, map[string]int{"killed": 3}
	text := h.Coverage().String()
	for _, want := range []string{"seed 42", "16, 16 a second", "2 with 6 changes", "1 exists, 2 ok", "1 unknown", "2 resumed", "1 by expiry", "8 ADDED", "4 BOOKMARK", "3 killed"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	_, err := consistency.Record(t.Context(), consistency.Options{Duration: -1, Writers: -1, Others: -1})
	for _, want := range []string{"--duration -1ns: must be more than 0", "--writers -1", "--others -1", "no client configuration"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want the error %q, got %v", want, err)
		}
	}
}
