package consistency

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
)

// objectTimeout limits the check of one object. Objects that are linearizable take milliseconds.
const objectTimeout = 30 * time.Second

func linearizable(ctx context.Context, a *analysis) (int, []conformance.Finding) {
	objects := map[string][]*Operation{}
	for _, o := range a.operations {
		key := o.Resource + "/" + o.Name
		objects[key] = append(objects[key], o)
	}
	var findings []conformance.Finding
	for key, operations := range objects {
		if ctx.Err() != nil {
			break
		}
		switch why, decided := linearize(operations, objectTimeout); {
		case !decided:
			findings = append(findings, conformance.Finding{Level: conformance.LevelWarning, Sent: key, Seen: fmt.Sprintf("no decision about %d operations in %v", len(operations), objectTimeout)})
		case why != "":
			findings = append(findings, conformance.Finding{Sent: key, Expected: "an order of the operations in which each has its outcome", Seen: why})
		}
	}
	slices.SortFunc(findings, func(a, b conformance.Finding) int { return cmp.Compare(a.Sent, b.Sent) })
	return len(objects), findings
}

// answered returns the answered writes of a resource that have a resource version, by the time of their answers.
func (a *analysis) answered(resource string) []*Operation {
	var writes []*Operation
	for _, o := range a.operations {
		if o.Resource == resource && o.Outcome == OK && o.writes() && effects[o.Verb] != nil {
			writes = append(writes, o)
		}
	}
	slices.SortFunc(writes, func(a, b *Operation) int { return cmp.Compare(a.Return, b.Return) })
	return writes
}

// newest returns the answered write with the highest resource version before each time, or nil. It needs the times in
// ascending order.
func newest(answered []*Operation) func(before time.Duration) *Operation {
	next := 0
	var highest *Operation
	return func(before time.Duration) *Operation {
		for ; next < len(answered) && answered[next].Return < before; next++ {
			if o := answered[next]; highest == nil || o.Returned.Revision > highest.Returned.Revision {
				highest = o
			}
		}
		return highest
	}
}

func increasing(_ context.Context, a *analysis) (int, []conformance.Finding) {
	checked, findings := 0, []conformance.Finding{}
	for resource := range a.timelines {
		answered := a.answered(resource)
		called := slices.SortedFunc(slices.Values(answered), func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
		before := newest(answered)
		for _, o := range called {
			earlier := before(o.Call)
			if earlier == nil {
				continue
			}
			checked++
			if o.Returned.Revision <= earlier.Returned.Revision {
				findings = append(findings, conformance.Finding{Sent: o.String(), Expected: "a resourceVersion higher than that of " + earlier.String(), Seen: fmt.Sprint(o.Returned.Revision)})
			}
		}
	}
	return checked, findings
}

func cachedGets(_ context.Context, a *analysis) (int, []conformance.Finding) {
	checked, findings := 0, []conformance.Finding{}
	for i := range a.history.Operations {
		o := &a.history.Operations[i]
		if o.Verb != CachedGet || o.Outcome != OK {
			continue
		}
		checked++
		if c := a.timelines[o.Resource].find(o.Returned.Revision); c == nil || c.name != o.Name || c.version != o.Returned || c.deleted {
			findings = append(findings, conformance.Finding{Sent: o.String(), Expected: "a version that the object has had", Seen: o.Returned.String()})
		}
	}
	return checked, findings
}
