package mutation

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// A case doesn't run for a mutation with which the recorded expression keeps its value.
func TestChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, original, mutated, recorded, object string
		want                                              bool
	}{
		{"boundary", "both are true of the object", "object.replicas <= 5", "object.replicas < 5", "true", `{"replicas": 3}`, false},
		{"changed", "the mutation is false of the object", "object.replicas <= 5", "object.replicas < 5", "true", `{"replicas": 5}`, true},
		{"failing", "an error may be another answer", "object.replicas <= 5", "object.none <= 5", "true", `{"replicas": 5}`, true},
		{"variables", "a variable has the value that its expression has", "variables.limit == 5", "variables.limit >= 5", "true", `{"replicas": 5}`, false},
		{"parameters", "the record has the parameter object", "object.replicas <= params.limit", "object.replicas < params.limit", "true", `{"replicas": 3}`, false},
		{"request", "the record has the operation", `request.operation == "CREATE" || object.replicas < 1`, `request.operation == "CREATE" || object.replicas > 1`, "true", `{"replicas": 1}`, false},
		{"unrecorded", "the record lacks the permissions", `authorizer.group("").resource("pods").check("get").allowed()`, "true", "true", `{}`, true},
		{"part of the request", "the record lacks the field", "has(request.subResource)", "true", "true", `{}`, true},
		{"another value", "the evaluation isn't that of the server", "object.replicas <= 5", "object.replicas < 5", "false", `{"replicas": 3}`, true},
		{"secret", "the record has no secret values", "object.data == 'a'", "object.data != 'b'", "true", `{"data": "(redacted)"}`, true},
		{"type", "1 and 1.0 are equal, and other expressions may tell them apart", "1", "1.0", "1", `{}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			policy := func(expression string) map[string]any {
				return map[string]any{"kind": trace.ValidatingPolicy, "spec": map[string]any{
					"variables":   []any{map[string]any{"name": "limit", "expression": "object.replicas"}},
					"validations": []any{map[string]any{"expression": expression}},
				}}
			}
			m := &Mutation{mutant: manifests.Object{Unstructured: &unstructured.Unstructured{Object: policy(test.mutated)}}, expression: "spec.validations[0].expression"}
			m.alternatives = func() *alternatives { return m.compile(policy(test.original)) }
			got := m.changes(&input{
				variables: newVariables(&trace.Request{}, &trace.Admission{Operation: "CREATE", Admitted: json.RawMessage(test.object)}),
				param:     &trace.Param{Object: json.RawMessage(`{"limit": 5}`)}, value: test.recorded,
			})
			if got != test.want {
				t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
			}
		})
	}
}
