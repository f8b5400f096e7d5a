package consistency

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// state is an object in the model, or the absence of one.
type state struct {
	exists bool
	// version is the object. After a write without an answer, its resource version is 0, and the uid of a new object "":
	// the next operation that shows them decides.
	version Version
	// last is the highest known resource version so far. A new version has a higher one, also after a deletion.
	last uint64
}

func (s state) String() string {
	if !s.exists {
		return fmt.Sprintf("no object after resourceVersion %d", s.last)
	}
	return s.version.String()
}

// is reports whether the object in the state may be of a version, and returns the state with what the version decides.
func (s state) is(revision uint64, uid string) (state, bool) {
	if s.version.Revision == 0 && revision > s.last {
		s.version.Revision, s.last = revision, revision
	}
	if s.version.UID == "" {
		s.version.UID = uid
	}
	return s, s.version.Revision == revision && s.version.UID == uid
}

// effects has the content after each verb that changes one.
var effects = map[string]func(before Content, o *Operation) Content{
	Create: func(_ Content, o *Operation) Content { return o.Sent },
	Update: func(before Content, o *Operation) Content {
		return Content{o.Sent.Value, o.Sent.Applied, before.Status}
	},
	Patch:        func(before Content, o *Operation) Content { return Content{o.Text, before.Applied, before.Status} },
	Apply:        func(before Content, o *Operation) Content { return Content{before.Value, o.Text, before.Status} },
	UpdateStatus: func(before Content, o *Operation) Content { return Content{before.Value, before.Applied, o.Text} },
	PatchStatus:  func(before Content, o *Operation) Content { return Content{before.Value, before.Applied, o.Text} },
}

// next returns the states of an object after an operation. It returns none if the operation can't have its outcome in the
// state.
func (s state) next(o *Operation) []state {
	none := []state(nil)
	met, unmet := s.condition(o)
	switch o.Outcome {
	case NotFound:
		return only(s, !s.exists)
	case Exists:
		return only(s, s.exists)
	case Conflict:
		if !s.exists {
			return only(s, o.UID != "" || o.Revision != 0)
		}
		return only(s, unmet || o.Verb == Apply && !o.Forced && s.version.Content.Applied != "")
	case Unknown:
		if o.optional {
			none = []state{s}
		}
	}
	if !met {
		return none
	}
	switch o.Verb {
	case Get, Recent, Paged:
		s, is := s.is(o.Returned.Revision, o.Returned.UID)
		return only(s, s.exists && is && s.version.Content == o.Returned.Content)
	case Delete:
		uid := o.Returned.UID == "" || s.version.UID == "" || o.Returned.UID == s.version.UID
		if !s.exists || !uid {
			return none
		}
		return append(none, state{last: max(s.last, o.Returned.Revision)})
	}
	changed := state{exists: true, last: s.last, version: Version{UID: s.version.UID, Content: effects[o.Verb](s.version.Content, o)}}
	if o.Outcome == Unknown {
		return append(none, changed)
	}
	changed, is := changed.is(o.Returned.Revision, o.Returned.UID)
	return only(changed, is && changed.version.Content == o.Returned.Content)
}

// only returns the state, or none.
func only(s state, possible bool) []state {
	if possible {
		return []state{s}
	}
	return nil
}

// condition reports whether the preconditions of an operation, and its need for an object or for none, may be met, and
// whether a precondition may be unmet.
func (s state) condition(o *Operation) (met, unmet bool) {
	if !s.exists {
		// A new object has no resourceVersion that an apply could name: servers create it.
		return o.Verb == Create || o.Verb == Apply && o.UID == "", false
	}
	revision := o.Revision == 0 || o.Revision == s.version.Revision || s.version.Revision == 0 && o.Revision > s.last
	uid := o.UID == "" || o.UID == s.version.UID || s.version.UID == ""
	unmet = o.Revision != 0 && (o.Revision != s.version.Revision) || o.UID != "" && o.UID != s.version.UID
	return o.Verb != Create && revision && uid, unmet
}

// model is the model of one object.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{state{}} },
	Step: func(s, input, _ any) []any {
		var next []any
		for _, one := range s.(state).next(input.(*Operation)) {
			next = append(next, one)
		}
		return next
	},
}).ToModel()

// linearize checks the operations on one object. It returns "" if they are linearizable, or why they aren't. decided is
// false if the check didn't end in time.
func linearize(operations []*Operation, timeout time.Duration) (why string, decided bool) {
	history := make([]porcupine.Operation, len(operations))
	for i, o := range operations {
		history[i] = porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.Return)}
	}
	switch porcupine.CheckOperationsTimeout(model, history, timeout) {
	case porcupine.Ok:
		return "", true
	case porcupine.Unknown:
		return "", false
	}
	_, info := porcupine.CheckOperationsVerbose(model, history, timeout)
	return unexplained(operations, info.PartialLinearizationsOperations()), true
}

// shownOperations is the number of operations in the text about an object that isn't linearizable.
const shownOperations = 6

// unexplained describes the longest order that the model allows, and the first operations that don't follow it.
func unexplained(operations []*Operation, partial [][][]porcupine.Operation) string {
	var longest []porcupine.Operation
	for _, order := range slices.Concat(partial...) {
		if len(order) > len(longest) {
			longest = order
		}
	}
	states := model.Init()
	ordered := map[*Operation]bool{}
	for _, o := range longest {
		_, states = model.Step(states, o.Input, nil)
		ordered[o.Input.(*Operation)] = true
	}
	left := slices.DeleteFunc(slices.Clone(operations), func(o *Operation) bool { return ordered[o] })
	slices.SortFunc(left, func(a, b *Operation) int { return cmp.Compare(a.Return, b.Return) })
	text := &strings.Builder{}
	fmt.Fprintf(text, "%d of %d operations can be ordered, up to %s; no order has these next:", len(longest), len(operations), model.DescribeState(states))
	for _, o := range left[:min(len(left), shownOperations)] {
		fmt.Fprintf(text, "\n%s", o)
	}
	return text.String()
}
