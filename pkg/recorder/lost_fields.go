package recorder

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Stores records the object that the storage has written for the last pass, and the version in which the storage keeps
// the object. Stores ignores an object of another kind than the object of the pass, as for an update of scale.
func (r *Recording) Stores(kind trace.Kind, object Encoding, version string) {
	kept := r.Keep(kind, object)
	r.Update(func(*trace.Request) {
		if len(r.passes) == 0 {
			return
		}
		last := r.passes[len(r.passes)-1]
		if checked(&last.Admission) && last.Kind.Group == kind.Group && last.Kind.Kind == kind.Kind {
			last.stored, last.StoredVersion = kept, version
		}
	})
}

// lose sets the field Lost of the calls and evaluations of the pass. It copies the parts that it changes, because the
// pass shares these with the recorder. The steps must be copies already.
func lose(a *trace.Admission) {
	pruned := removed(a.StoredChanges())
	for _, step := range a.Steps {
		for i, webhook := range step.Webhooks {
			if lost := lostBy(webhook.Call, a, pruned); lost != nil {
				whole, call := *webhook, *webhook.Call
				call.Lost, whole.Call = lost, &call
				step.Webhooks[i] = &whole
			}
		}
		if len(pruned) > 0 {
			for i, policy := range step.Policies {
				step.Policies[i] = losing(policy, a, pruned)
			}
		}
	}
}

// losing returns a copy of the policy, and sets Evaluation.Lost in the copy. pruned are the fields of the pass that the
// storage removed.
func losing(p *trace.Policy, a *trace.Admission, pruned []trace.Change) *trace.Policy {
	policy := *p
	policy.Bindings = make([]*trace.Binding, len(p.Bindings))
	for i, b := range p.Bindings {
		binding := *b
		binding.Evaluations = make([]*trace.Evaluation, len(b.Evaluations))
		for j, e := range b.Evaluations {
			evaluation := *e
			evaluation.Lost = unstored(a, trace.Diff(e.Before, e.After), pruned)
			binding.Evaluations[j] = &evaluation
		}
		policy.Bindings[i] = &binding
	}
	return &policy
}

// lostBy returns the fields that the patch of a call set, and that the server didn't store. pruned are the fields of the
// pass that the storage removed.
func lostBy(c *trace.Call, a *trace.Admission, pruned []trace.Change) *trace.Lost {
	if c == nil || len(c.Patch) == 0 || c.Outcome != trace.Allowed {
		return nil
	}
	if lost := dropped(c); lost != nil {
		return lost
	}
	return unstored(a, trace.Diff(c.Before, c.After), pruned)
}

// unstored returns the fields that the changes of a webhook or a policy set, and that the storage removed, or nil.
func unstored(a *trace.Admission, changes, pruned []trace.Change) *trace.Lost {
	var fields []string
	for _, field := range pruned {
		if slices.ContainsFunc(changes, func(change trace.Change) bool { return change.After != "" && related(change.Path, field.Path) }) {
			fields = append(fields, field.Path)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	because := fmt.Sprintf("%s in %s has no such field", a.Kind.Kind, a.Kind.Version)
	if a.StoredVersion != a.Kind.Version {
		because = fmt.Sprintf("%s is stored in %s, and that version or the conversion to it has no such field", a.Kind.Kind, a.StoredVersion)
	}
	return &trace.Lost{Fields: fields, Because: because}
}

// dropped returns the fields that the patch of a call set, and that weren't in the object any more when the server had
// decoded the patched object. The Go type of a built-in kind keeps only the fields of the kind.
func dropped(c *trace.Call) *trace.Lost {
	var review struct {
		Request struct {
			Object json.RawMessage `json:"object"`
		} `json:"request"`
	}
	patch, err := jsonpatch.DecodePatch(c.Patch)
	if err != nil || json.Unmarshal(c.Request, &review) != nil {
		return nil
	}
	before, after := review.Request.Object, c.After
	if len(after) == 0 {
		after = before // the server has dropped all changes
	}
	wanted, err := patch.Apply(before)
	if err != nil {
		return nil
	}
	var fields []string
	for _, change := range removed(trace.Diff(wanted, after)) {
		if set(change) {
			fields = append(fields, change.Path)
		}
	}
	var object struct{ APIVersion, Kind string }
	if len(fields) == 0 || json.Unmarshal(wanted, &object) != nil {
		return nil
	}
	version := object.APIVersion[strings.LastIndex(object.APIVersion, "/")+1:]
	return &trace.Lost{Fields: fields, Because: fmt.Sprintf("%s in %s has no such field", object.Kind, version)}
}

// removed returns the changes that remove a field.
func removed(changes []trace.Change) []trace.Change {
	return slices.DeleteFunc(changes, func(c trace.Change) bool { return c.After != "" })
}

// set reports whether the value before the change differs from the zero value of its type. A removed zero value isn't
// lost, because a Go type may leave out zero values.
func set(c trace.Change) bool {
	return !slices.Contains([]string{`""`, "0", "false", "{}", "[]"}, c.Before)
}

// related reports whether two paths lead to the same field, or one of them leads to a part of the other's field.
func related(a, b string) bool {
	shorter, longer := a, b
	if len(shorter) > len(longer) {
		shorter, longer = longer, shorter
	}
	rest, ok := strings.CutPrefix(longer, shorter)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ".["))
}
