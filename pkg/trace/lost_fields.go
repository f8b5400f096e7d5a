package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// Lost names fields that a webhook or a policy set, and that the server didn't store.
type Lost struct {
	// Fields are the paths of the fields, such as spec.flavour.
	Fields []string `json:"fields"`
	// Because says why the server didn't store the fields, such as "Widget in v1 has no such field".
	Because string `json:"because"`
}

// String returns the fields with the reason.
func (l *Lost) String() string {
	return fmt.Sprintf("not stored, because %s: %s", l.Because, strings.Join(l.Fields, ", "))
}

// words returns the end of a sentence about the call of a webhook. It returns "" for no lost fields.
func (l *Lost) words() string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf(", but the server didn't store %s, because %s", strings.Join(l.Fields, ", "), l.Because)
}

// Stores records the object that the storage has written for the last pass, and the version in which the storage keeps
// the object. Stores ignores an object of another kind than the object of the pass, as for an update of scale.
func (r *Recording) Stores(kind Kind, object Encoding, version string) {
	kept := r.Keep(kind, object)
	r.Update(func(request *Request) {
		if len(request.Admissions) == 0 {
			return
		}
		last := request.Admissions[len(request.Admissions)-1]
		if last.checked() && last.Kind.Group == kind.Group && last.Kind.Kind == kind.Kind {
			last.stored, last.StoredVersion = kept, version
		}
	})
}

// storedChanges returns the differences between the admitted and the stored object. The resource version is no
// difference, because each object gets one when it is stored.
func (a *Admission) storedChanges() []Change {
	if len(a.Stored) == 0 || len(a.Admitted) == 0 {
		return nil
	}
	return slices.DeleteFunc(Diff(a.Admitted, a.Stored), func(c Change) bool { return c.Path == "metadata.resourceVersion" })
}

// lose sets the field Lost of the calls and evaluations of the pass. It copies the parts that it changes, because the
// pass shares these with the recorder. The steps must be copies already.
func (a *Admission) lose() {
	pruned := removed(a.storedChanges())
	for _, step := range a.Steps {
		for i, webhook := range step.Webhooks {
			if lost := webhook.Call.lost(a, pruned); lost != nil {
				whole, call := *webhook, *webhook.Call
				call.Lost, whole.Call = lost, &call
				step.Webhooks[i] = &whole
			}
		}
		if len(pruned) > 0 {
			for i, policy := range step.Policies {
				step.Policies[i] = policy.lose(a, pruned)
			}
		}
	}
}

// lose returns a copy of the policy, and sets Evaluation.Lost in the copy. pruned are the fields of the pass that the
// storage removed.
func (p *Policy) lose(a *Admission, pruned []Change) *Policy {
	policy := *p
	policy.Bindings = make([]*Binding, len(p.Bindings))
	for i, b := range p.Bindings {
		binding := *b
		binding.Evaluations = make([]*Evaluation, len(b.Evaluations))
		for j, e := range b.Evaluations {
			evaluation := *e
			evaluation.Lost = a.unstored(Diff(e.Before, e.After), pruned)
			binding.Evaluations[j] = &evaluation
		}
		policy.Bindings[i] = &binding
	}
	return &policy
}

// lost returns the fields that the patch of a call set, and that the server didn't store. pruned are the fields of the
// pass that the storage removed.
func (c *Call) lost(a *Admission, pruned []Change) *Lost {
	if c == nil || len(c.Patch) == 0 || c.Outcome != Allowed {
		return nil
	}
	if lost := c.dropped(); lost != nil {
		return lost
	}
	return a.unstored(Diff(c.Before, c.After), pruned)
}

// unstored returns the fields that the changes of a webhook or a policy set, and that the storage removed, or nil.
func (a *Admission) unstored(changes, pruned []Change) *Lost {
	var fields []string
	for _, field := range pruned {
		if slices.ContainsFunc(changes, func(change Change) bool { return change.After != "" && related(change.Path, field.Path) }) {
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
	return &Lost{fields, because}
}

// dropped returns the fields that the patch of a call set, and that weren't in the object any more when the server had
// decoded the patched object. The Go type of a built-in kind keeps only the fields of the kind.
func (c *Call) dropped() *Lost {
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
	for _, change := range removed(Diff(wanted, after)) {
		if change.set() {
			fields = append(fields, change.Path)
		}
	}
	var object struct{ APIVersion, Kind string }
	if len(fields) == 0 || json.Unmarshal(wanted, &object) != nil {
		return nil
	}
	version := object.APIVersion[strings.LastIndex(object.APIVersion, "/")+1:]
	return &Lost{fields, fmt.Sprintf("%s in %s has no such field", object.Kind, version)}
}

// removed returns the changes that remove a field.
func removed(changes []Change) []Change {
	return slices.DeleteFunc(changes, func(c Change) bool { return c.After != "" })
}

// set reports whether the value before the change differs from the zero value of its type. A removed zero value isn't
// lost, because a Go type may leave out zero values.
func (c Change) set() bool {
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
