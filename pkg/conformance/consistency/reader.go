package consistency

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
)

const (
	// pageSize is the number of objects of an epoch on the first page of a list. The epoch has more objects.
	pageSize = 5
	// exactRevisions is the number of resource versions before the last one that exact lists ask for.
	exactRevisions = 40
)

// read is a row of the table of reads.
type read struct {
	// mode is the verb of a get, or the mode of a list.
	mode   string
	weight int
	do     func(ctx context.Context, r *reader, k *kind)
}

var reads = []read{
	{Get, 6, func(ctx context.Context, r *reader, k *kind) { r.get(ctx, k, Get, nil) }},
	{CachedGet, 2, func(ctx context.Context, r *reader, k *kind) {
		r.get(ctx, k, CachedGet, map[string]string{"resourceVersion": "0"})
	}},
	{Recent, 3, func(ctx context.Context, r *reader, k *kind) { r.listed(ctx, k, Recent, 0, map[string]string{}) }},
	{Paged, 1, func(ctx context.Context, r *reader, k *kind) {
		r.listed(ctx, k, Paged, 0, map[string]string{"limit": strconv.Itoa(r.run.options.Others/2 + pageSize)})
	}},
	{Cached, 2, func(ctx context.Context, r *reader, k *kind) {
		r.listed(ctx, k, Cached, 0, map[string]string{"resourceVersion": "0"})
	}},
	{Exact, 1, func(ctx context.Context, r *reader, k *kind) {
		first, last := r.run.revisions(k)
		asked := max(first, last-min(last, r.random.Uint64N(exactRevisions)))
		r.listed(ctx, k, Exact, asked, map[string]string{"resourceVersion": strconv.FormatUint(asked, 10), "resourceVersionMatch": "Exact"})
	}},
	{NotOlder, 1, func(ctx context.Context, r *reader, k *kind) {
		_, asked := r.run.revisions(k)
		r.listed(ctx, k, NotOlder, asked, map[string]string{"resourceVersion": strconv.FormatUint(asked, 10), "resourceVersionMatch": "NotOlderThan"})
	}},
}

// reader is a client that reads.
type reader struct {
	*client
	operations []Operation
	lists      []List
}

// work reads until writing ends.
func (r *reader) work(ctx, writing context.Context) {
	for writing.Err() == nil {
		k := &r.run.kinds[r.random.IntN(len(r.run.kinds))]
		weighed(r.random, reads, func(row *read) int { return row.weight }).do(ctx, r, k)
	}
}

// get reads a random object of the current epoch.
func (r *reader) get(ctx context.Context, k *kind, verb string, query map[string]string) {
	o := Operation{Client: r.id, Verb: verb, Resource: k.resource.Name, Name: objectName(r.run.epoch(), r.random.IntN(objectsOfEpoch))}
	a := r.do(ctx, &request{method: http.MethodGet, kind: k, name: o.Name, query: query})
	if a.outcome == OK {
		var err error
		if _, o.Returned, err = decode(a.body); err != nil {
			a.failed(err)
		}
	}
	o.Call, o.Return, o.Outcome, o.Reason = a.call, a.returned, a.outcome, a.reason
	if o.Outcome.none() {
		r.wait(ctx)
	}
	r.operations = append(r.operations, o)
}

// listed lists the objects of a resource.
func (r *reader) listed(ctx context.Context, k *kind, mode string, asked uint64, query map[string]string) {
	l := List{Client: r.id, Mode: mode, Resource: k.resource.Name, Asked: asked, Epoch: r.run.epoch()}
	r.list(ctx, k, &l, query)
	r.lists = append(r.lists, l)
}

// list makes the requests of a list: one, or one for each page.
func (c *client) list(ctx context.Context, k *kind, l *List, query map[string]string) {
	for first := true; ; first = false {
		a := c.do(ctx, &request{method: http.MethodGet, kind: k, query: query})
		if first {
			l.Call = a.call
		}
		var next string
		if a.outcome == OK {
			var err error
			if next, err = l.add(a.body); err != nil {
				a.failed(err)
			}
		}
		if a.outcome == NotFound {
			a.outcome = Refused // the path isn't found
		}
		l.Return, l.Outcome, l.Reason = a.returned, a.outcome, a.reason
		if a.outcome.none() {
			c.wait(ctx)
		}
		if next == "" || a.outcome != OK {
			return
		}
		query["continue"] = next
	}
}

// add adds a page to the list, and returns the token for the next page.
func (l *List) add(body []byte) (string, error) {
	var page struct {
		Metadata struct{ ResourceVersion, Continue string }
		Items    []object
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return "", err
	}
	revision, err := parseRevision(page.Metadata.ResourceVersion)
	if err != nil {
		return "", err
	}
	l.Revisions = append(l.Revisions, revision)
	for i := range page.Items {
		item := &page.Items[i]
		if !written(item.Metadata.Name) {
			continue
		}
		version, err := item.version()
		if err != nil {
			return "", err
		}
		l.Items = append(l.Items, Item{item.Metadata.Name, version})
	}
	return page.Metadata.Continue, nil
}
