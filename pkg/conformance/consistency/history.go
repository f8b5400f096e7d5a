package consistency

import (
	"fmt"
	"strings"
	"time"
)

// Outcome tells how a request ended.
type Outcome string

// The outcomes of requests.
const (
	// OK means that the server answered with success.
	OK Outcome = "ok"
	// NotFound, Exists, Conflict and Expired are the refusals that depend on the stored objects: 404, 409 with the reason
	// AlreadyExists, other answers with 409, and 410.
	NotFound Outcome = "notFound"
	Exists   Outcome = "exists"
	Conflict Outcome = "conflict"
	Expired  Outcome = "expired"
	// Refused means that the server refused the request for another reason, and changed nothing.
	Refused Outcome = "refused"
	// Unsent means that there was no connection for the request, so it changed nothing.
	Unsent Outcome = "unsent"
	// Unknown means that there was no answer, or one with a code of 500 or more. A write may have changed the object, or
	// may change it later.
	Unknown Outcome = "unknown"
)

// The verbs of operations.
const (
	Create       = "create"
	Get          = "get"
	CachedGet    = "get at resourceVersion 0"
	Update       = "update"
	Patch        = "patch"
	Apply        = "apply"
	UpdateStatus = "update status"
	PatchStatus  = "patch status"
	Delete       = "delete"
)

// Operation is a request for one object, and its answer. The times are since the beginning of the run.
type Operation struct {
	Client         int
	Verb           string
	Resource, Name string
	// Text is the text that a write other than a delete adds. Sent is the content in the body of a create and an update.
	Text string
	Sent Content
	// UID and Revision are the preconditions, or zero values.
	UID      string
	Revision uint64
	// Forced tells whether an apply takes fields over from other managers.
	Forced bool

	Call, Return time.Duration
	Outcome      Outcome
	// Reason is the error of an outcome Refused, Unsent or Unknown.
	Reason string
	// Returned is the version in the answer. That of a delete has no resource version.
	Returned Version

	// optional tells whether a write with the outcome Unknown may have had no effect.
	optional bool
}

// since rounds a time for texts.
func since(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

func (o *Operation) String() string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "client %d, %v to %v: %s %s/%s", o.Client, since(o.Call), since(o.Return), o.Verb, o.Resource, o.Name)
	if o.Text != "" {
		fmt.Fprintf(text, " %q", o.Text)
	}
	if o.UID != "" {
		fmt.Fprintf(text, " if uid is %s", o.UID)
	}
	if o.Revision != 0 {
		fmt.Fprintf(text, " if resourceVersion is %d", o.Revision)
	}
	fmt.Fprintf(text, " -> %s", o.Outcome)
	switch {
	case o.Outcome == OK:
		fmt.Fprintf(text, " %s", o.Returned)
	case o.Reason != "":
		fmt.Fprintf(text, " %s", o.Reason)
	}
	return text.String()
}

// writes reports whether the operation could change an object.
func (o *Operation) writes() bool { return o.Verb != Get && o.Verb != CachedGet }

// The modes of lists.
const (
	// Recent is a list without a resourceVersion. Paged is such a list in several pages.
	Recent = "list"
	Paged  = "list in pages"
	// Cached is a list at resourceVersion 0, Exact one at a resource version, and NotOlder one at a resource version or
	// a later one.
	Cached   = "list at resourceVersion 0"
	Exact    = "list at an exact resourceVersion"
	NotOlder = "list not older than a resourceVersion"
)

// List is a list of all objects of a resource in the namespace.
type List struct {
	Client         int
	Mode, Resource string
	// Asked is the resource version of the request, or 0. Epoch is the newest epoch of objects at the call.
	Asked uint64
	Epoch int

	Call, Return time.Duration
	Outcome      Outcome
	Reason       string
	// Revisions are the resource versions of the pages, or the only one of a list without pages.
	Revisions []uint64
	Items     []Item
}

// Item is an object of a list.
type Item struct {
	Name    string
	Version Version
}

func (l *List) String() string {
	asked := ""
	if l.Asked != 0 {
		asked = fmt.Sprintf(" %d", l.Asked)
	}
	return fmt.Sprintf("client %d, %v to %v: %s%s of %s -> %s at resourceVersion %v with %d objects", l.Client, since(l.Call), since(l.Return), l.Mode, asked, l.Resource, l.Outcome, l.Revisions, len(l.Items))
}

// revision returns the resource version of the first page.
func (l *List) revision() uint64 { return l.Revisions[0] }

// The ways in which watches start.
const (
	// FromList is at the resource version of a list, Resumed at that of the last event or bookmark of another watch, and
	// FromStart at one from before the first write.
	FromList  = "from a list"
	Resumed   = "resumed"
	FromStart = "from the start of the run"
	// Streamed is a watch that begins with the current objects, and CachedStreamed one that begins with the objects at
	// any resource version (KEP-3157).
	Streamed       = "with initial events"
	CachedStreamed = "with initial events at resourceVersion 0"
)

// The ways in which watches end.
const (
	// EndedByClient is the client's decision, EndedByServer the regular end of the response, and EndedByConnection an
	// interrupted connection.
	EndedByClient     = "by the client"
	EndedByServer     = "by the server"
	EndedByConnection = "by the connection"
	// EndedByExpiry is the answer 410, and EndedByError another error.
	EndedByExpiry = "by expiry"
	EndedByError  = "by an error"
	// EndedByLast is the client's end after the last write of the run. Stuck means that the last write didn't arrive.
	EndedByLast = "after the last write"
	Stuck       = "without the last write"
)

// Watch is a watch of all objects of a resource in the namespace.
type Watch struct {
	Client          int
	Resource, Start string
	// From is the resource version of the request, or 0.
	From uint64
	// Steady tells whether the client watches from the first write to the last. It lists the objects only if it can't
	// resume the watch.
	Steady bool

	Call, Return time.Duration
	// End tells how the watch ended. Reason is the error of an end by an error or by the connection.
	End, Reason string
	Events      []Event
}

func (w *Watch) String() string {
	return fmt.Sprintf("client %d, %v to %v: watch of %s %s at resourceVersion %d, with %d events, ended %s", w.Client, since(w.Call), since(w.Return), w.Resource, w.Start, w.From, len(w.Events), w.End)
}

// The types of events.
const (
	added    = "ADDED"
	modified = "MODIFIED"
	deleted  = "DELETED"
	bookmark = "BOOKMARK"
)

// Event is an event of a watch.
type Event struct {
	At         time.Duration
	Type, Name string
	// Version is the object. A bookmark has only a resource version.
	Version Version
	// InitialEnd tells whether a bookmark marks the end of the initial events.
	InitialEnd bool
}

func (e *Event) String() string {
	if e.Type == bookmark {
		return fmt.Sprintf("%s at resourceVersion %d", e.Type, e.Version.Revision)
	}
	return fmt.Sprintf("%s %s at %s", e.Type, e.Name, e.Version)
}

// initial returns the number of initial events, without the bookmark at their end, and whether there is this bookmark.
func (w *Watch) initial() (int, bool) {
	if w.Start != Streamed && w.Start != CachedStreamed {
		return 0, true
	}
	for i := range w.Events {
		if w.Events[i].InitialEnd {
			return i, true
		}
	}
	return len(w.Events), false
}

// last returns the highest resource version that the client knows at the end of the watch.
func (w *Watch) last() uint64 {
	last := w.From
	for _, e := range w.Events {
		last = max(last, e.Version.Revision)
	}
	return last
}

// History has all that the clients of a run have sent and received.
type History struct {
	Seed uint64
	Took time.Duration
	// Servers, Writers, Readers and Watchers are the numbers of servers and clients.
	Servers, Writers, Readers, Watchers int
	// Others is Options.Others.
	Others     int
	Operations []Operation
	Lists      []List
	Watches    []Watch
	// Faults are the numbers of faults of Options.Disturb, by their kinds.
	Faults map[string]int
	// RequestTimeout is the time that servers and clients gave each request.
	RequestTimeout time.Duration
}
