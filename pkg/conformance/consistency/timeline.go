package consistency

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// change is a change of an object at a resource version.
type change struct {
	name string
	// version is the object after the change. A deletion has the content of the object before it.
	version Version
	deleted bool
	// existed tells whether the object existed before the change.
	existed bool
	// inferred tells whether the change is a deletion in a gap, whose resource version is unknown. It is at the end of the
	// gap.
	inferred bool
}

// eventType returns the type of the event of a watch.
func (c *change) eventType() string {
	switch {
	case c.deleted:
		return deleted
	case c.existed:
		return modified
	}
	return added
}

// timeline has the changes of a resource that the writes of the run explain, in the order of their resource versions.
type timeline struct {
	changes []change
	// byName has the indexes of the changes of an object.
	byName map[string][]int
	// gaps are the resource versions between which a deletion may be missing.
	gaps []gap
}

// gap is a time in which no client has watched without interruption, because a server no longer had the changes.
type gap struct {
	// from and to are the last resource version before the gap, and the resource version of the list after it.
	from, to uint64
	// end is the time of the list, and objects are its objects.
	end     time.Duration
	objects map[string]Version
}

func (t *timeline) add(c change) {
	t.byName[c.name] = append(t.byName[c.name], len(t.changes))
	t.changes = append(t.changes, c)
}

// after returns the index of the first change after a resource version.
func (t *timeline) after(revision uint64) int {
	i, _ := slices.BinarySearchFunc(t.changes, revision+1, func(c change, r uint64) int { return cmp.Compare(c.version.Revision, r) })
	return i
}

// find returns the change at a resource version, or nil.
func (t *timeline) find(revision uint64) *change {
	for i := t.after(revision) - 1; i >= 0 && t.changes[i].version.Revision == revision; i-- {
		if c := &t.changes[i]; !c.inferred {
			return c
		}
	}
	return nil
}

// between returns the changes after a resource version up to another one.
func (t *timeline) between(from, to uint64) []change {
	first := t.after(from)
	changes := slices.Clone(t.changes[first:max(first, t.after(to))])
	return slices.DeleteFunc(changes, func(c change) bool { return c.inferred })
}

// at returns the objects that exist at a resource version, by their names. It returns false if the resource version is
// in a gap.
func (t *timeline) at(revision uint64) (map[string]Version, bool) {
	if slices.ContainsFunc(t.gaps, func(g gap) bool { return g.from < revision && revision < g.to }) {
		return nil, false
	}
	objects := map[string]Version{}
	end := t.after(revision)
	for name, indexes := range t.byName {
		i, _ := slices.BinarySearch(indexes, end)
		if i == 0 {
			continue
		}
		if last := &t.changes[indexes[i-1]]; !last.deleted {
			objects[name] = last.version
		}
	}
	return objects, true
}

// sighting is a version that a client has received, or the deletion of one.
type sighting struct {
	name    string
	version Version
	deleted bool
	at      time.Duration
	// answered tells whether the version is the answer to the write that made it.
	answered bool
}

// longestDelay is the longest time that networks and storages delay a request beyond its timeout, in which it may still
// have its effect.
const longestDelay = 20 * time.Second

// analysis has what the checks need to know about a history.
type analysis struct {
	history   *History
	timelines map[string]*timeline
	// operations are the writes and the recent reads that the order of an object must explain. Writes without an answer
	// return when a client has first seen their effect. They are left out if no client has seen it, unless it may be in a
	// gap.
	operations []*Operation
}

func analyze(h *History) *analysis {
	a := &analysis{history: h, timelines: map[string]*timeline{}}
	resources := map[string]bool{}
	for i := range h.Operations {
		resources[h.Operations[i].Resource] = true
	}
	for _, resource := range slices.Sorted(maps.Keys(resources)) {
		a.explain(resource)
	}
	return a
}

// sightings returns what clients have received of the objects of a resource, by resource versions.
func (h *History) sightings(resource string) map[uint64][]sighting {
	seen := map[uint64][]sighting{}
	see := func(s sighting) { seen[s.version.Revision] = append(seen[s.version.Revision], s) }
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Resource == resource && o.Outcome == OK && o.Verb != Delete {
			see(sighting{name: o.Name, version: o.Returned, at: o.Return, answered: o.writes()})
		}
	}
	for i := range h.Lists {
		if l := &h.Lists[i]; l.Resource == resource {
			for _, item := range l.Items {
				see(sighting{name: item.Name, version: item.Version, at: l.Return})
			}
		}
	}
	for i := range h.Watches {
		if w := &h.Watches[i]; w.Resource == resource {
			for _, e := range w.Events {
				if e.Type != bookmark {
					see(sighting{name: e.Name, version: e.Version, at: e.At, deleted: e.Type == deleted})
				}
			}
		}
	}
	return seen
}

// gaps returns the gaps in what the client that watches a resource all the time has seen. It lists the objects only if it
// can't resume its watch, so each of its lists ends a gap.
func (h *History) gaps(resource string) []gap {
	var steady []*Watch
	for i := range h.Watches {
		if w := &h.Watches[i]; w.Resource == resource && w.Steady {
			steady = append(steady, w)
		}
	}
	var gaps []gap
	for i := range h.Lists {
		l := &h.Lists[i]
		if l.Outcome != OK || len(steady) == 0 || l.Client != steady[0].Client {
			continue
		}
		last := uint64(0)
		for _, w := range steady {
			if w.Call < l.Call {
				last = max(last, w.last())
			}
		}
		if l.revision() > last {
			gaps = append(gaps, gap{from: last, to: l.revision(), end: l.Return, objects: l.objects()})
		}
	}
	return gaps
}

// objects returns the versions of the objects of a list by their names.
func (l *List) objects() map[string]Version {
	objects := map[string]Version{}
	for _, item := range l.Items {
		objects[item.Name] = item.Version
	}
	return objects
}

// explain makes the timeline of a resource, and adds its operations to the analysis. A version belongs to the timeline
// if it is the answer to a write, or if it has the text of a write without an answer. A deletion belongs to it if a
// client has deleted the object.
func (a *analysis) explain(resource string) {
	seen := a.history.sightings(resource)
	e := &explanation{
		timeline:   &timeline{byName: map[string][]int{}, gaps: a.history.gaps(resource)},
		unanswered: map[string]*Operation{}, deletions: map[string][]*Operation{}, deletedBy: map[string]*Operation{},
		current: map[string]Version{},
	}
	a.timelines[resource] = e.timeline
	first := map[string]time.Duration{} // when a text was first seen
	for _, all := range seen {
		for i := range all {
			for _, text := range all[i].version.Content.texts() {
				if at, has := first[text]; !has || all[i].at < at {
					first[text] = all[i].at
				}
			}
		}
	}
	for i := range a.history.Operations {
		o := a.history.Operations[i]
		if o.Resource != resource || o.Verb == CachedGet || o.Outcome == Refused || o.Outcome == Expired || o.Outcome == Unsent {
			continue
		}
		at, effective := first[o.Text]
		switch {
		case o.Outcome != Unknown:
			if o.Outcome == OK && o.Verb == Delete {
				e.deletedBy[o.Returned.UID] = &o
			}
			a.operations = append(a.operations, &o)
		case !o.writes():
		case o.Verb != Delete && effective:
			e.unanswered[o.Text] = &o
			o.Return = max(o.Call, at)
			a.operations = append(a.operations, &o)
		default:
			if o.Verb == Delete {
				e.deletions[o.Name] = append(e.deletions[o.Name], &o)
			}
			if end, has := e.timeline.gapIn(o.Call, o.Call+a.history.RequestTimeout+longestDelay); has {
				maybe := o
				maybe.optional, maybe.Return = true, end
				a.operations = append(a.operations, &maybe)
			}
		}
	}
	gaps := e.timeline.gaps
	for _, revision := range slices.Sorted(maps.Keys(seen)) {
		for len(gaps) > 0 && gaps[0].to < revision {
			e.pass(&gaps[0])
			gaps = gaps[1:]
		}
		e.explain(seen[revision])
	}
	for i := range gaps {
		e.pass(&gaps[i])
	}
	a.operations = append(a.operations, e.found...)
	for i := range a.history.Lists {
		if l := &a.history.Lists[i]; l.Resource == resource {
			a.operations = append(a.operations, l.reads()...)
		}
	}
}

// gapIn returns the end of the last gap that ends between two times.
func (t *timeline) gapIn(from, to time.Duration) (end time.Duration, has bool) {
	for _, g := range t.gaps {
		if from <= g.end && g.end <= to {
			end, has = g.end, true
		}
	}
	return end, has
}

// explanation is the work in progress on a timeline.
type explanation struct {
	timeline *timeline
	// unanswered has the writes without an answer by their texts, and deletions those by the names of objects. deletedBy
	// has the answered deletes by uid.
	unanswered map[string]*Operation
	deletions  map[string][]*Operation
	deletedBy  map[string]*Operation
	// current has the objects that exist after the last change.
	current map[string]Version
	// found are the deletes without an answer that had an effect, with an answer.
	found []*Operation
}

func (c *Content) texts() []string {
	return slices.DeleteFunc([]string{c.Value, c.Applied, c.Status}, func(text string) bool { return text == "" })
}

// explain adds the change at a resource version to the timeline, if a write explains one of its sightings.
func (e *explanation) explain(sightings []sighting) {
	slices.SortStableFunc(sightings, func(a, b sighting) int {
		switch {
		case a.answered == b.answered:
			return cmp.Compare(a.at, b.at)
		case a.answered:
			return -1
		}
		return 1
	})
	for i := range sightings {
		s := &sightings[i]
		before, existed := e.current[s.name]
		existed = existed && before.UID == s.version.UID // after a deletion in a gap, another object has the name
		explained := s.answered
		switch {
		case s.deleted:
			explained = existed && e.deletion(s)
		case !explained:
			explained = e.write(s)
		}
		if !explained {
			continue
		}
		e.timeline.add(change{name: s.name, version: s.version, deleted: s.deleted, existed: existed})
		if s.deleted {
			delete(e.current, s.name)
		} else {
			e.current[s.name] = s.version
		}
		return
	}
}

// pass adds the deletions in a gap at its end.
func (e *explanation) pass(g *gap) {
	for _, name := range slices.Sorted(maps.Keys(e.current)) {
		if _, exists := g.objects[name]; exists {
			continue
		}
		version := e.current[name]
		version.Revision = g.to
		e.timeline.add(change{name: name, version: version, deleted: true, existed: true, inferred: true})
		delete(e.current, name)
	}
}

// write reports whether a write without an answer explains a version.
func (e *explanation) write(s *sighting) bool {
	for _, text := range s.version.Content.texts() {
		if o := e.unanswered[text]; o != nil && o.Name == s.name {
			delete(e.unanswered, text)
			return true
		}
	}
	return false
}

// deletion reports whether a delete explains a deletion. A deletion doesn't tell which of several deletes without an
// answer has made it: the operation begins with the earliest of them.
func (e *explanation) deletion(s *sighting) bool {
	if o := e.deletedBy[s.version.UID]; o != nil {
		o.Returned.Revision = s.version.Revision
		return true
	}
	var earliest *Operation
	for _, o := range e.deletions[s.name] {
		if (o.UID == "" || o.UID == s.version.UID) && o.Call <= s.at && (earliest == nil || o.Call < earliest.Call) {
			earliest = o
		}
	}
	if earliest == nil {
		return false
	}
	answered := *earliest
	answered.UID, answered.Revision = "", 0
	answered.Outcome, answered.Return = OK, s.at
	answered.Returned = Version{UID: s.version.UID, Revision: s.version.Revision}
	e.found = append(e.found, &answered)
	return true
}

// reads returns a recent list as reads of the objects that clients wrote at that time, or nil.
func (l *List) reads() []*Operation {
	if l.Outcome != OK || l.Mode != Recent && l.Mode != Paged {
		return nil
	}
	objects := l.objects()
	var reads []*Operation
	for epoch := max(l.Epoch-1, 0); epoch <= l.Epoch; epoch++ {
		for i := range objectsOfEpoch {
			o := &Operation{Client: l.Client, Verb: l.Mode, Resource: l.Resource, Name: objectName(epoch, i), Call: l.Call, Return: l.Return, Outcome: NotFound}
			if version, has := objects[o.Name]; has {
				o.Outcome, o.Returned = OK, version
			}
			reads = append(reads, o)
		}
	}
	return reads
}
