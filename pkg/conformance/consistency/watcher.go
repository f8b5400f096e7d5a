package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// start is a row of the table of the ways in which watches start.
type start struct {
	name   string
	weight int
	// query returns the parameters of the request, or nil if the watch can't start in this way now.
	query func(ctx context.Context, w *watcher) map[string]string
}

var (
	fromList = start{FromList, 3, func(ctx context.Context, w *watcher) map[string]string {
		l := List{Client: w.id, Mode: Recent, Resource: w.kind.resource.Name, Epoch: w.run.epoch()}
		w.list(ctx, w.kind, &l, map[string]string{})
		w.lists = append(w.lists, l)
		if l.Outcome != OK {
			return nil
		}
		w.done = slices.ContainsFunc(l.Items, func(i Item) bool { return i.Name == lastName })
		return from(l.revision())
	}}
	resumed = start{Resumed, 5, func(_ context.Context, w *watcher) map[string]string {
		if w.last == 0 {
			return nil
		}
		return from(w.last)
	}}
	starts = []start{fromList, resumed,
		{FromStart, 1, func(_ context.Context, w *watcher) map[string]string {
			first, _ := w.run.revisions(w.kind)
			return from(first)
		}},
		{Streamed, 2, func(context.Context, *watcher) map[string]string {
			return map[string]string{"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
		}},
		{CachedStreamed, 1, func(context.Context, *watcher) map[string]string {
			return map[string]string{"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "resourceVersion": "0"}
		}},
	}
)

func from(revision uint64) map[string]string {
	return map[string]string{"resourceVersion": strconv.FormatUint(revision, 10)}
}

const (
	// shortestWatch and longestWatch are the limits of the random duration of a watch. Short durations are more likely.
	shortestWatch = 20 * time.Millisecond
	longestWatch  = 4 * time.Second
	// serverTimeouts is the greatest timeoutSeconds of a watch that the server ends. A server may send a bookmark before
	// the end.
	serverTimeouts = 5
)

// watcher is a client that watches a resource.
type watcher struct {
	*client
	kind *kind
	// steady tells whether the client watches from the first write to the last, and resumes its watches.
	steady bool
	// last is the resource version of the last event or bookmark, from which a watch can be resumed, or 0.
	last uint64
	// done tells whether the client has seen the last write of the run.
	done    bool
	watches []Watch
	lists   []List
}

// work watches until the client has seen the last write, or ctx ends. The clients write until writing ends.
func (w *watcher) work(ctx, writing context.Context) {
	for ctx.Err() == nil {
		row := weighed(w.random, starts, func(s *start) int { return s.weight })
		switch {
		case w.steady && w.last != 0:
			row = &resumed
		case w.steady:
			row = &fromList
		}
		query := row.query(ctx, w)
		if w.done {
			return
		}
		if query == nil {
			continue
		}
		one := w.watch(ctx, writing, row.name, query)
		if w.done {
			return
		}
		if one.End == EndedByExpiry {
			w.last = 0
		}
		if len(one.Events) == 0 {
			w.wait(ctx)
		}
	}
	if n := len(w.watches); n > 0 {
		w.watches[n-1].End = Stuck
	}
}

// watch makes a watch, and records its events.
func (w *watcher) watch(ctx, writing context.Context, name string, query map[string]string) *Watch {
	one := Watch{Client: w.id, Resource: w.kind.resource.Name, Start: name, Steady: w.steady}
	one.From, _ = strconv.ParseUint(query["resourceVersion"], 10, 64)
	query["watch"], query["allowWatchBookmarks"] = "true", "true"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	switch {
	case w.steady:
	case w.chance(0.2):
		query["timeoutSeconds"] = strconv.Itoa(2 + w.random.IntN(serverTimeouts-1))
	default:
		factor := math.Pow(float64(longestWatch)/float64(shortestWatch), w.random.Float64())
		timer := time.AfterFunc(time.Duration(float64(shortestWatch)*factor), func() {
			if writing.Err() == nil { // after the last write, the watch must send it
				cancel()
			}
		})
		defer timer.Stop()
	}
	one.Call = w.run.now()
	response, err := w.stream(ctx, &request{method: http.MethodGet, kind: w.kind, query: query})
	if err == nil {
		err = w.receive(response, &one)
		_ = response.Close()
	}
	one.Return = w.run.now()
	one.End, one.Reason = endOf(ctx, err)
	w.watches = append(w.watches, one)
	return &w.watches[len(w.watches)-1]
}

// errLast ends a watch that has sent the last write of the run.
var errLast = errors.New("the last write of the run")

// receive records the events of a response until the response ends.
func (w *watcher) receive(response io.Reader, one *Watch) error {
	decoder := json.NewDecoder(response)
	for {
		var e struct {
			Type   string
			Object json.RawMessage
		}
		if err := decoder.Decode(&e); err != nil {
			return err
		}
		if e.Type == "ERROR" {
			var status metav1.Status
			if err := json.Unmarshal(e.Object, &status); err != nil {
				return err
			}
			return &apierrors.StatusError{ErrStatus: status}
		}
		var o object
		if err := json.Unmarshal(e.Object, &o); err != nil {
			return err
		}
		version, err := o.version()
		if err != nil {
			return err
		}
		if e.Type != bookmark && !written(o.Metadata.Name) {
			continue
		}
		event := Event{At: w.run.now(), Type: e.Type, Name: o.Metadata.Name, Version: version}
		if e.Type == bookmark {
			event.Name, event.Version, event.InitialEnd = "", Version{Revision: version.Revision}, o.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		}
		one.Events = append(one.Events, event)
		if _, complete := one.initial(); complete {
			w.last = version.Revision
		}
		if event.Name == lastName {
			w.done = true
			return errLast
		}
	}
}

// endOf returns how a watch ended.
func endOf(ctx context.Context, err error) (end, reason string) {
	switch {
	case errors.Is(err, errLast):
		return EndedByLast, ""
	case ctx.Err() != nil:
		return EndedByClient, ""
	case errors.Is(err, io.EOF):
		return EndedByServer, ""
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return EndedByExpiry, err.Error()
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return EndedByError, err.Error()
	}
	return EndedByConnection, err.Error()
}
