package faults

import "slices"

// effect is the change that a fault makes to a request or to a call of a webhook, besides its latency. The value is the
// JSON name of the field of Fault.
type effect string

const (
	none     effect = ""
	status   effect = "status"
	conflict effect = "conflict"
	timeout  effect = "timeout"
	reset    effect = "reset"
	truncate effect = "truncate"
	closing  effect = "close"
	expire   effect = "expire"
	stale    effect = "stale"
	refuse   effect = "refuse"
	wrongUID effect = "wrongUID"
	badPatch effect = "badPatch"
)

// trait describes an effect: which requests it is for, and how a fault selects it.
type trait struct {
	effect effect
	// set tells whether a fault has the effect.
	set func(*Fault) bool
	// verbs are the verbs that the effect is for. An empty list stands for all verbs.
	verbs []string
	// requests and webhooks tell whether the effect is for requests of clients, and for calls of webhooks.
	requests, webhooks bool
	// executes tells whether Fault.Executed can be set together with the effect.
	executes bool
}

func traits() []trait {
	watches, writes := []string{"watch"}, []string{"update", "patch", "delete"}
	return []trait{
		{effect: status, set: func(f *Fault) bool { return f.Status != 0 }, requests: true, webhooks: true, executes: true},
		{effect: conflict, set: func(f *Fault) bool { return f.Conflict }, requests: true, verbs: writes},
		{effect: timeout, set: func(f *Fault) bool { return f.Timeout }, requests: true, webhooks: true, executes: true},
		{effect: reset, set: func(f *Fault) bool { return f.Reset != "" }, requests: true, webhooks: true, executes: true},
		{effect: truncate, set: func(f *Fault) bool { return f.Truncate != nil }, requests: true, webhooks: true},
		{effect: closing, set: func(f *Fault) bool { return f.Close }, requests: true, verbs: watches},
		{effect: expire, set: func(f *Fault) bool { return f.Expire }, requests: true, verbs: watches},
		{effect: stale, set: func(f *Fault) bool { return f.Stale != "" }, requests: true, verbs: []string{"list"}},
		{effect: refuse, set: func(f *Fault) bool { return f.Refuse }, webhooks: true},
		{effect: wrongUID, set: func(f *Fault) bool { return f.WrongUID }, webhooks: true},
		{effect: badPatch, set: func(f *Fault) bool { return f.BadPatch }, webhooks: true},
	}
}

// effects returns the traits of the effects that are set in a fault.
func (f *Fault) effects() []trait {
	return slices.DeleteFunc(traits(), func(t trait) bool { return !t.set(f) })
}
