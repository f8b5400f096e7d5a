package consistency

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Coverage tells what a run has covered.
type Coverage struct {
	Seed uint64        `json:"seed"`
	Took time.Duration `json:"tookNanoseconds"`
	// Servers, Writers, Readers and Watchers are the numbers of servers and clients.
	Servers  int `json:"servers"`
	Writers  int `json:"writers"`
	Readers  int `json:"readers"`
	Watchers int `json:"watchers"`
	// Requests is the number of operations and lists, and PerSecond the mean of a second.
	Requests  int `json:"requests"`
	PerSecond int `json:"requestsPerSecond"`
	// Operations and Lists are the numbers by verb or mode, and by outcome.
	Operations map[string]map[Outcome]int `json:"operations"`
	Lists      map[string]map[Outcome]int `json:"lists"`
	// Starts and Ends are the numbers of watches by the ways in which they start and end. Events are the numbers by type.
	Starts map[string]int `json:"watchStarts"`
	Ends   map[string]int `json:"watchEnds"`
	Events map[string]int `json:"events"`
	// Objects is the number of names, and Changes the number of resource versions of their objects. Others is the number of
	// further objects of each resource, which no client writes.
	Objects int            `json:"objects"`
	Others  int            `json:"others"`
	Changes int            `json:"changes"`
	Faults  map[string]int `json:"faults,omitempty"`
}

// Coverage returns what the run has covered.
func (h *History) Coverage() *Coverage {
	c := &Coverage{
		Seed: h.Seed, Took: h.Took, Servers: h.Servers, Writers: h.Writers, Readers: h.Readers, Watchers: h.Watchers,
		Others:   h.Others,
		Requests: len(h.Operations) + len(h.Lists), Operations: map[string]map[Outcome]int{}, Lists: map[string]map[Outcome]int{},
		Starts: map[string]int{}, Ends: map[string]int{}, Events: map[string]int{}, Faults: h.Faults,
	}
	if seconds := h.Took.Seconds(); seconds > 0 {
		c.PerSecond = int(float64(c.Requests) / seconds)
	}
	count := func(in map[string]map[Outcome]int, name string, outcome Outcome) {
		if in[name] == nil {
			in[name] = map[Outcome]int{}
		}
		in[name][outcome]++
	}
	objects := map[string]bool{}
	changes := map[string]bool{}
	for i := range h.Operations {
		o := &h.Operations[i]
		count(c.Operations, o.Verb, o.Outcome)
		objects[o.Resource+"/"+o.Name] = true
	}
	for i := range h.Lists {
		count(c.Lists, h.Lists[i].Mode, h.Lists[i].Outcome)
	}
	for i := range h.Watches {
		w := &h.Watches[i]
		c.Starts[w.Start]++
		c.Ends[w.End]++
		for _, e := range w.Events {
			c.Events[e.Type]++
			if e.Type != bookmark {
				changes[fmt.Sprint(w.Resource, e.Version.Revision)] = true
			}
		}
	}
	c.Objects, c.Changes = len(objects), len(changes)
	return c
}

// String returns the coverage as text for people.
func (c *Coverage) String() string {
	text := &strings.Builder{}
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	row := func(of, counts string) { fmt.Fprintf(table, "  %s\t%s\n", of, counts) }
	fmt.Fprintf(table, "seed %d, %v: %d writers, %d readers, %d watchers; servers: %d\n", c.Seed, c.Took.Round(100*time.Millisecond), c.Writers, c.Readers, c.Watchers, c.Servers)
	row("requests", fmt.Sprintf("%d, %d a second", c.Requests, c.PerSecond))
	row("objects", fmt.Sprintf("%d with %d changes, and %d others of each resource", c.Objects, c.Changes, c.Others))
	for _, byName := range []map[string]map[Outcome]int{c.Operations, c.Lists} {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			row(name, counts(byName[name]))
		}
	}
	row("watches started", counts(c.Starts))
	row("watches ended", counts(c.Ends))
	row("events", counts(c.Events))
	if len(c.Faults) > 0 {
		row("faults", counts(c.Faults))
	}
	_ = table.Flush() // a strings.Builder returns no error
	return text.String()
}

func counts[K ~string](of map[K]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%d %s", of[key], key))
	}
	return strings.Join(parts, ", ")
}
