package consistency

import (
	"context"
	"fmt"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// eachEvent calls check for each event after the initial ones that selects is true for. highest is the highest resource
// version before the event, in the watch. check returns what is right, or "" if the event is right. eachEvent returns
// the number of events.
func (a *analysis) eachEvent(selects func(*Event) bool, check func(w *Watch, e *Event, highest uint64) string) (int, []conformance.Finding) {
	checked, findings := 0, []conformance.Finding(nil)
	for i := range a.history.Watches {
		w := &a.history.Watches[i]
		first, _ := w.initial()
		highest := w.From
		for j := first; j < len(w.Events); j++ {
			e := &w.Events[j]
			if selects(e) {
				checked++
				if expected := check(w, e, highest); expected != "" {
					findings = append(findings, conformance.Finding{Sent: w.String(), Expected: expected, Seen: e.String()})
				}
			}
			highest = max(highest, e.Version.Revision)
		}
	}
	return checked, findings
}

func isChange(e *Event) bool   { return e.Type != bookmark }
func isBookmark(e *Event) bool { return e.Type == bookmark }

func orderedEvents(_ context.Context, a *analysis) (int, []conformance.Finding) {
	return a.eachEvent(isChange, func(_ *Watch, e *Event, highest uint64) string {
		if e.Version.Revision < highest {
			return fmt.Sprintf("a resourceVersion after %d", highest)
		}
		return ""
	})
}

func uniqueEvents(_ context.Context, a *analysis) (int, []conformance.Finding) {
	var of *Watch
	seen := map[uint64]bool{}
	return a.eachEvent(isChange, func(w *Watch, e *Event, _ uint64) string {
		if of != w {
			of, seen = w, map[uint64]bool{}
		}
		if seen[e.Version.Revision] || e.Version.Revision == w.From {
			return "no change that was sent before"
		}
		seen[e.Version.Revision] = true
		return ""
	})
}

func bookmarks(_ context.Context, a *analysis) (int, []conformance.Finding) {
	checked, findings := a.eachEvent(isBookmark, func(_ *Watch, e *Event, highest uint64) string {
		if e.Version.Revision < highest {
			return fmt.Sprintf("at least resourceVersion %d", highest)
		}
		return ""
	})
	var of *Watch
	marked := uint64(0)
	_, late := a.eachEvent(func(*Event) bool { return true }, func(w *Watch, e *Event, _ uint64) string {
		if of != w {
			of, marked = w, 0
		}
		if e.Type == bookmark {
			marked = max(marked, e.Version.Revision)
		} else if e.Version.Revision <= marked {
			return fmt.Sprintf("no change up to resourceVersion %d, because a bookmark was there", marked)
		}
		return ""
	})
	return checked, append(findings, late...)
}

// eachGap returns the number of watches that selects is true for and that have sent events, and a finding for each
// change that one of them lacks.
func (a *analysis) eachGap(selects func(*Watch) bool) (int, []conformance.Finding) {
	checked, findings := 0, []conformance.Finding(nil)
	for i := range a.history.Watches {
		w := &a.history.Watches[i]
		first, began := w.initial()
		if !began || !selects(w) || len(w.Events) == 0 {
			continue
		}
		checked++
		from, to := w.From, uint64(0)
		if first < len(w.Events) && w.Events[first].InitialEnd {
			from = w.Events[first].Version.Revision
		}
		type key struct {
			name     string
			revision uint64
		}
		sent := map[key]bool{}
		for _, e := range w.Events[first:] {
			sent[key{e.Name, e.Version.Revision}] = true
			to = max(to, e.Version.Revision)
		}
		for _, c := range a.timelines[w.Resource].between(from, to) {
			if !sent[key{c.name, c.version.Revision}] {
				findings = append(findings, conformance.Finding{Sent: w.String(), Expected: fmt.Sprintf("%s %s at %s", c.eventType(), c.name, c.version), Seen: fmt.Sprintf("no such event up to resourceVersion %d", to)})
			}
		}
	}
	return checked, findings
}

func completeWatches(_ context.Context, a *analysis) (int, []conformance.Finding) {
	return a.eachGap(func(w *Watch) bool { return w.Start != Resumed })
}

func resumedWatches(_ context.Context, a *analysis) (int, []conformance.Finding) {
	return a.eachGap(func(w *Watch) bool { return w.Start == Resumed })
}

func realEvents(_ context.Context, a *analysis) (int, []conformance.Finding) {
	return a.eachEvent(isChange, func(w *Watch, e *Event, _ uint64) string {
		c := a.timelines[w.Resource].find(e.Version.Revision)
		switch {
		case c == nil:
			return "a change that a client has made"
		case c.name != e.Name || c.eventType() != e.Type || c.version != e.Version:
			return fmt.Sprintf("%s %s at %s", c.eventType(), c.name, c.version)
		}
		return ""
	})
}

func initialEvents(_ context.Context, a *analysis) (int, []conformance.Finding) {
	checked, findings := 0, []conformance.Finding(nil)
	for i := range a.history.Watches {
		w := &a.history.Watches[i]
		n, ended := w.initial()
		if !ended || n == len(w.Events) || !w.Events[n].InitialEnd {
			continue
		}
		checked++
		revision := w.Events[n].Version.Revision
		var items []Item
		for _, e := range w.Events[:n] {
			if e.Type == added {
				items = append(items, Item{e.Name, e.Version})
			} else {
				findings = append(findings, conformance.Finding{Sent: w.String(), Expected: "initial events of the type ADDED", Seen: e.String()})
			}
		}
		objects, known := a.timelines[w.Resource].at(revision)
		if seen := difference(objects, items); known && seen != "" {
			findings = append(findings, conformance.Finding{Sent: w.String(), Expected: fmt.Sprintf("the objects at resourceVersion %d", revision), Seen: seen})
		}
		if o := newest(a.answered(w.Resource))(w.Call); w.Start == Streamed && o != nil && revision < o.Returned.Revision {
			findings = append(findings, conformance.Finding{Sent: w.String(), Expected: "not older than the answered " + o.String(), Seen: fmt.Sprintf("resourceVersion %d", revision)})
		}
	}
	return checked, findings
}

func lastEvents(_ context.Context, a *analysis) (int, []conformance.Finding) {
	checked, findings := 0, []conformance.Finding(nil)
	for i := range a.history.Watches {
		w := &a.history.Watches[i]
		if w.End != EndedByLast && w.End != Stuck {
			continue
		}
		checked++
		if w.End == Stuck {
			findings = append(findings, conformance.Finding{Sent: w.String(), Expected: "the event of the last write", Seen: "none " + w.Reason})
		}
	}
	return checked, findings
}

func expirations(_ context.Context, a *analysis) (int, []conformance.Finding) {
	checked, findings := 0, []conformance.Finding(nil)
	for i := range a.history.Watches {
		if w := &a.history.Watches[i]; w.End == EndedByExpiry {
			checked++
			if w.From == 0 {
				findings = append(findings, conformance.Finding{Sent: w.String(), Expected: "no 410 without a resourceVersion", Seen: w.Reason})
			}
		}
	}
	for i := range a.history.Lists {
		if l := &a.history.Lists[i]; l.Outcome == Expired {
			checked++
			if l.Mode != Exact && l.Mode != Paged {
				findings = append(findings, conformance.Finding{Sent: l.String(), Expected: "no 410 without an exact resourceVersion", Seen: string(l.Outcome)})
			}
		}
	}
	return checked, findings
}
