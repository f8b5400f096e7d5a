package recorder

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// storing records a create request for a widget, which a webhook and a policy change. It returns the request as a
// reader of the recorder gets it. The object of the request has an empty spec.
func storing(t *testing.T, patch, after, stored, version string) *trace.Request {
	t.Helper()
	const object = `{"apiVersion":"example.com/v1","kind":"Widget","spec":{}}`
	kind := trace.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}
	recording := New(Limits{Requests: 1}).Begin(trace.Request{Verb: "create", Resource: trace.Resource{Group: "example.com", Version: "v1", Resource: "widgets"}})
	call := &trace.Call{Outcome: trace.Allowed, Request: json.RawMessage(`{"request":{"object":` + object + `}}`), Patch: json.RawMessage(patch)}
	evaluation := &trace.Evaluation{Outcome: trace.Allowed}
	if after != "" {
		call.Before, call.After = json.RawMessage(object), json.RawMessage(after)
		evaluation.Before, evaluation.After = call.Before, call.After
	}
	recording.Enter(&Pass{Admission: trace.Admission{Operation: "CREATE", Kind: kind, Admitted: json.RawMessage(after), Steps: []*trace.Step{
		{Plugin: trace.MutatingPolicy, Phase: trace.Mutating,
			Policies: []*trace.Policy{{Verdict: trace.Verdict{Reason: trace.Matched}, Bindings: []*trace.Binding{{Verdict: trace.Verdict{Reason: trace.Matched}, Evaluations: []*trace.Evaluation{evaluation}}}}}},
		{Plugin: trace.MutatingPlugin, Phase: trace.Mutating,
			Webhooks: []*trace.Webhook{{Verdict: trace.Verdict{Reason: trace.Matched}, Call: call}}},
	}}})
	if stored != "" {
		recording.Stores(kind, Encoding{Bytes: []byte(stored)}, version)
	}
	request := recording.Finished()
	if call.Lost != nil || evaluation.Lost != nil {
		t.Error("a reader changed the record")
	}
	return request
}

// A reader gets the fields that a webhook or a policy set, and that the server didn't store.
func TestLost(t *testing.T) {
	t.Parallel()
	const sweet = `{"apiVersion":"example.com/v1","kind":"Widget","spec":{"flavour":"sweet"}}`
	tests := []struct {
		name, reason                  string
		patch, after, stored, version string
		// call is the text of Call.Lost of the webhook. policy is the text of Evaluation.Lost of the policy.
		call, policy string
	}{
		{
			name: "pruned", reason: "the storage removes a field that the schema lacks",
			patch: `[{"op":"add","path":"/spec/flavour","value":"sweet"}]`, after: sweet,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"resourceVersion":"3"},"spec":{}}`, version: "v1",
			call:   "not stored, because Widget in v1 has no such field: spec.flavour",
			policy: "not stored, because Widget in v1 has no such field: spec.flavour",
		},
		{
			name: "converted", reason: "another version is stored",
			patch: `[{"op":"add","path":"/spec/flavour","value":"sweet"}]`, after: sweet,
			stored: `{"apiVersion":"example.com/v1","kind":"Widget","spec":{}}`, version: "v2",
			call:   "not stored, because Widget is stored in v2, and that version or the conversion to it has no such field: spec.flavour",
			policy: "not stored, because Widget is stored in v2, and that version or the conversion to it has no such field: spec.flavour",
		},
		{
			name: "stored", reason: "nothing is lost",
			patch: `[{"op":"add","path":"/spec/flavour","value":"sweet"}]`, after: sweet, stored: sweet, version: "v1",
		},
		{
			name: "not stored", reason: "a dry run stores nothing, and so prunes nothing",
			patch: `[{"op":"add","path":"/spec/flavour","value":"sweet"}]`, after: sweet,
		},
		{
			name: "dropped", reason: "the Go type of a built-in kind lacks the field, so the patch changes nothing",
			patch: `[{"op":"add","path":"/spec/flavour","value":"sweet"}]`,
			call:  "not stored, because Widget in v1 has no such field: spec.flavour",
		},
		{name: "zero value", reason: "a Go type leaves out a zero value", patch: `[{"op":"add","path":"/spec/flavour","value":""}]`},
		{name: "no patch", reason: "a patch that can't be decoded is an error of the call", patch: `{}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := storing(t, test.patch, test.after, test.stored, test.version)
			text := func(lost *trace.Lost) string {
				if lost == nil {
					return ""
				}
				return lost.String()
			}
			steps := request.Admissions[0].Steps
			if got := text(steps[1].Webhooks[0].Call.Lost); got != test.call {
				t.Errorf("%s: want %q of the call, got %q", test.reason, test.call, got)
			}
			if got := text(steps[0].Policies[0].Bindings[0].Evaluations[0].Lost); got != test.policy {
				t.Errorf("%s: want %q of the policy, got %q", test.reason, test.policy, got)
			}
			var timeline strings.Builder
			if err := trace.WriteTimeline(&timeline, request, trace.Brief); err != nil {
				t.Fatal(err)
			}
			if want := len(test.call+test.policy) > 0; strings.Contains(timeline.String(), "not stored, because") != want {
				t.Errorf("%s: want lost fields %t, got\n%s", test.reason, want, &timeline)
			}
		})
	}
}

// A pass gets no stored object if the stored object has another kind than the object of the pass, as in an update of a
// scale, or if the operation is a deletion.
func TestStoresOfAnotherKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, operation, kind string }{
		{"scale", "the stored object is a Widget, and the pass is for a Scale", "UPDATE", "Scale"},
		{"deletion", "a deletion with finalizers writes the object", "DELETE", "Widget"},
	} {
		recording := New(Limits{Requests: 1}).Begin(trace.Request{})
		recording.Enter(&Pass{Admission: trace.Admission{Operation: test.operation, Kind: trace.Kind{Group: "example.com", Version: "v1", Kind: test.kind}}})
		recording.Stores(trace.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}, Encoding{Bytes: []byte(`{}`)}, "v1")
		if pass := recording.Finished().Admissions[0]; len(pass.Stored) > 0 || pass.StoredVersion != "" {
			t.Errorf("%s: %s: want no stored object, got %s in %q", test.name, test.reason, pass.Stored, pass.StoredVersion)
		}
	}
}
