package consistency

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

const (
	concepts = "Kubernetes API Concepts, "
	// caseTimeout limits the time of a check.
	caseTimeout = 10 * time.Minute
	// shownFindings is the number of findings that a case reports in full.
	shownFindings = 5
)

// check is a promise that a history is checked against.
type check struct {
	id, promise, source string
	// of names what is checked, for the reason why a case is skipped: the history has none of it.
	of string
	// run returns the number of things that it has checked, and what breaks the promise.
	run func(ctx context.Context, a *analysis) (int, []conformance.Finding)
}

// checks are all promises, in the order of reports.
var checks = []check{
	{"object.linearizable", "Each object behaves as if the requests for it ran one after the other, each at a moment between its start and its answer. Preconditions, conflicts and interrupted writes are part of the order.",
		concepts + "Semantics for get and list: Most Recent", "objects", linearizable},
	{"object.revisions", "A write that begins after the answer to another write of the resource gets a higher resourceVersion.",
		"KEP-5504, Comparable Resource Version", "pairs of writes", increasing},
	{"get.cached", "A get at resourceVersion 0 returns a version that the object has had.",
		concepts + "Semantics for get and list: Any", "answered gets at resourceVersion 0", cachedGets},
	{"list.snapshot", "A list has exactly the objects that exist at its resourceVersion, each in its version of that time.",
		concepts + "Semantics for get and list", "lists", snapshots},
	{"list.recent", "A list without a resourceVersion has all writes that were answered before it.",
		concepts + "Semantics for get and list: Most Recent", "lists without a resourceVersion", recentLists},
	{"list.pages", "All pages of a list are of the same resourceVersion.",
		concepts + "Retrieving large results sets in chunks", "lists in pages", pagedLists},
	{"list.asked", "A list is exactly of the resourceVersion that resourceVersionMatch=Exact names, and not older than the one of NotOlderThan.",
		concepts + "The resourceVersionMatch parameter", "lists with a resourceVersionMatch", askedLists},
	{"watch.order", "The events of a watch are in the order of their changes.",
		concepts + "Efficient detection of changes", "events", orderedEvents},
	{"watch.unique", "A watch sends each change once.",
		concepts + "Efficient detection of changes", "events", uniqueEvents},
	{"watch.complete", "A watch sends every change after the resourceVersion that it starts from.",
		concepts + "Efficient detection of changes", "watches with events", completeWatches},
	{"watch.resumed", "A watch that starts from the resourceVersion of an event or a bookmark goes on without a gap.",
		concepts + "Efficient detection of changes", "resumed watches with events", resumedWatches},
	{"watch.real", "An event is a change that a client has made: with its type, its resourceVersion and the object after it.",
		concepts + "Efficient detection of changes", "events", realEvents},
	{"watch.bookmarks", "All changes up to the resourceVersion of a bookmark are sent before it.",
		concepts + "Watch bookmarks", "bookmarks", bookmarks},
	{"watch.initialEvents", "With sendInitialEvents, a watch begins with exactly the objects that exist at the resourceVersion of the bookmark that ends the initial events.",
		concepts + "Streaming lists", "watches with all initial events", initialEvents},
	{"watch.last", "A watch that stays open sends every change at last.",
		concepts + "Efficient detection of changes", "watches that were open after the last write", lastEvents},
	{"watch.expired", "Only a request for a resourceVersion is answered 410, because the server no longer has the changes since.",
		concepts + "410 Gone responses", "answers with 410", expirations},
}

// Cases returns the cases that check a history. If the history is nil, the cases can be listed, but not run.
func Cases(h *History) []conformance.Case {
	analyzed := sync.OnceValue(func() *analysis { return analyze(h) })
	cases := make([]conformance.Case, len(checks))
	for i, c := range checks {
		cases[i] = conformance.Case{
			ID: c.id, Promise: c.promise, Source: c.source, Timeout: caseTimeout,
			Run: func(ctx context.Context, t *conformance.T) {
				checked, findings := c.run(ctx, analyzed())
				for i, f := range findings {
					if i == shownFindings {
						t.Report(conformance.Finding{Seen: fmt.Sprintf("%d more findings", len(findings)-i)})
						break
					}
					t.Report(f)
				}
				if checked == 0 {
					t.Skip("the history has no " + c.of)
				}
			},
		}
	}
	return cases
}

// Run records a history, and checks it.
func Run(ctx context.Context, o Options, options conformance.Options) (conformance.Results, *History, error) {
	if err := options.Selection.Check(Cases(nil)); err != nil {
		return nil, nil, err
	}
	h, err := Record(ctx, o)
	if err != nil {
		return nil, h, err
	}
	results, err := conformance.Run(ctx, Cases(h), options)
	return results, h, err
}
