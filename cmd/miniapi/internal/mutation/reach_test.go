package mutation

import (
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/policytest/runner"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Only the cases whose requests a mutation can concern are run with it.
func TestMayNotice(t *testing.T) {
	t.Parallel()
	evaluated := func(reason trace.Reason) []*trace.Binding {
		return []*trace.Binding{{Name: "bound", Evaluations: []*trace.Evaluation{{
			Verdict: trace.Verdict{Reason: reason}, Expressions: []*trace.Expression{{Field: "spec.variables[0] (limit)"}},
		}}}}
	}
	idle := []*trace.Binding{{Name: "bound", Evaluations: []*trace.Evaluation{{Verdict: trace.Verdict{Reason: trace.Matched}, Outcome: trace.Allowed}}}}
	const policy, binding = "ValidatingAdmissionPolicy/limit", "ValidatingAdmissionPolicyBinding/bound"
	for _, test := range []struct {
		name, reason string
		verdict      trace.Reason
		bindings     []*trace.Binding
		mutation     Mutation
		want         bool
	}{
		{"evaluated", "the rule may stop matching", trace.Matched, evaluated(trace.Matched), Mutation{Object: policy}, true},
		{"expression", "the case evaluates it", trace.Matched, evaluated(trace.Matched), Mutation{Object: policy, expression: "spec.variables[0].expression", alternatives: func() *alternatives { return nil }}, true},
		{"other expression", "the case doesn't evaluate it", trace.Matched, evaluated(trace.Matched), Mutation{Object: policy, expression: "spec.validations[0].expression"}, false},
		{"false condition", "the policy doesn't apply, whatever its rules", trace.Matched, evaluated(trace.MatchConditionFalse), Mutation{Object: policy}, false},
		{"binding with a false condition", "the binding doesn't apply, whatever its rules", trace.Matched, evaluated(trace.MatchConditionFalse), Mutation{Object: binding}, false},
		{"unmatched binding", "its selector may begin to match", trace.Matched, []*trace.Binding{{Name: "bound", Verdict: trace.Verdict{Reason: trace.NamespaceSelector}}}, Mutation{Object: binding}, true},
		{"operation", "the rule may begin to match", trace.RuleOperation, nil, Mutation{Object: policy}, true},
		{"selector", "the selector may begin to match", trace.NamespaceSelector, nil, Mutation{Object: policy}, true},
		{"resource", "no mutation makes the rule match another resource", trace.RuleResource, nil, Mutation{Object: policy}, false},
		{"idle", "the policy has no effect on the request, whether it matches or not", trace.Matched, idle, Mutation{Object: policy}, false},
		{"idle in another version", "the policy may have an effect on the converted object", trace.Matched, idle, Mutation{Object: policy, converts: true}, true},
		{"idle binding", "the binding has no effect on the request, whether it matches or not", trace.Matched, idle, Mutation{Object: binding}, false},
		{"several rules", "the verdict is about one of them", trace.RuleResource, nil, Mutation{Object: policy, anywhere: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reach := &Reach{}
			reach.Add(&runner.Result{Path: "test.yaml", File: "limit", Name: "a case"}, nil, &trace.Request{Admissions: []*trace.Admission{{Steps: []*trace.Step{{
				Policies: []*trace.Policy{{Reference: trace.Reference{Kind: trace.ValidatingPolicy, Name: "limit"}, Verdict: trace.Verdict{Reason: test.verdict}, Bindings: test.bindings}},
			}}}}})
			reached := reach.tests[testOf{"test.yaml", "limit"}]
			if got := reached.reaches(&test.mutation, "a case") && reached.mayNotice(&test.mutation, "a case"); got != test.want {
				t.Errorf("%s: want %t, got %t", test.reason, test.want, got)
			}
		})
	}
}
