package integration_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
)

// policyQuestion is a row of the table of policies in docs/trace.md. The test installs the policy "asked". By default,
// it then creates the ConfigMap "thing" by a dry run, with the label app=db and the data size=3.
type policyQuestion struct {
	name, reason string
	install      func(testing.TB, *miniapitest.Server)
	// kind is ValidatingAdmissionPolicy by default.
	kind    string
	request func(context.Context, *miniapitest.Server) error
	// resource is configmaps by default.
	resource string

	// want and field are the reason and the field in the server's answer. evaluated tells whether the policy is
	// evaluated.
	want      trace.Reason
	field     string
	evaluated bool
	again     trace.Reason
	// says is a part of the sentence in the answer.
	says string
}

// validates returns a function that installs a validating policy with the name "asked". The function change may change
// the policy's spec and its binding. By default, the binding denies requests.
func validates(change func(*admissionregistrationv1.ValidatingAdmissionPolicySpec, *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec)) func(testing.TB, *miniapitest.Server) {
	return func(t testing.TB, srv *miniapitest.Server) {
		t.Helper()
		spec, bound := validations(admissionregistrationv1.Validation{Expression: "true"}), binding(admissionregistrationv1.Deny)
		change(&spec, &bound)
		enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("asked"), Spec: spec}, bound)
	}
}

// constrains returns a function that installs a policy with match constraints.
func constrains(change func(*admissionregistrationv1.MatchResources)) func(testing.TB, *miniapitest.Server) {
	return validates(func(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec, _ *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
		spec.MatchConstraints = matchResources("*", "v1", "configmaps")
		change(spec.MatchConstraints)
	})
}

// judges returns a function that installs a policy with a failurePolicy, a validation and a binding's action.
func judges(policy admissionregistrationv1.FailurePolicyType, expression string, action admissionregistrationv1.ValidationAction) func(testing.TB, *miniapitest.Server) {
	return validates(func(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec, bound *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
		spec.FailurePolicy = &policy
		spec.Variables = []admissionregistrationv1.Variable{{Name: "size", Expression: "int(object.data.size)"}}
		spec.Validations[0] = admissionregistrationv1.Validation{Expression: expression, Message: "at most 2"}
		bound.ValidationActions = []admissionregistrationv1.ValidationAction{action}
	})
}

// conditional returns a function that installs a policy with a failurePolicy and a match condition.
func conditional(policy admissionregistrationv1.FailurePolicyType, expression string) func(testing.TB, *miniapitest.Server) {
	return validates(func(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec, _ *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
		spec.FailurePolicy = &policy
		spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "only", Expression: expression}}
	})
}

// parameterized returns a function that installs a policy with parameters that don't exist.
func parameterized(kind admissionregistrationv1.ParamKind, action admissionregistrationv1.ParameterNotFoundActionType) func(testing.TB, *miniapitest.Server) {
	return validates(func(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec, bound *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
		spec.ParamKind = &kind
		bound.ParamRef = &admissionregistrationv1.ParamRef{Name: "missing", Namespace: "default", ParameterNotFoundAction: &action}
	})
}

// mutates returns a function that installs a mutating policy with the name "asked".
func mutates(spec admissionregistrationv1.MutatingAdmissionPolicySpec) func(testing.TB, *miniapitest.Server) {
	return func(t testing.TB, srv *miniapitest.Server) {
		t.Helper()
		mutate(t, srv, "asked", spec, nil)
	}
}

// with returns a function that calls other, and then calls policy.
func with(other, policy func(testing.TB, *miniapitest.Server)) func(testing.TB, *miniapitest.Server) {
	return func(t testing.TB, srv *miniapitest.Server) {
		t.Helper()
		other(t, srv)
		policy(t, srv)
	}
}

func unchangedPolicy(*admissionregistrationv1.ValidatingAdmissionPolicySpec, *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
}

func dryRunOf(change func(*corev1.ConfigMap)) func(context.Context, *miniapitest.Server) error {
	return func(ctx context.Context, srv *miniapitest.Server) error {
		thing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "thing", Labels: map[string]string{"app": "db"}}, Data: map[string]string{"size": "3"}}
		change(thing)
		_, err := srv.Client().CoreV1().ConfigMaps("default").Create(ctx, thing, metav1.CreateOptions{DryRun: dry})
		return err
	}
}

func policyQuestions() []policyQuestion {
	const (
		fail, ignore = admissionregistrationv1.Fail, admissionregistrationv1.Ignore
		deny, warn   = admissionregistrationv1.Deny, admissionregistrationv1.Warn
	)
	neverPatched := mutations(patches(`[JSONPatch{op: "add", path: "/data/asked", value: "1"}]`))
	failing := mutations(patches(`[JSONPatch{op: "add", path: "/none/asked", value: "1"}]`))
	failing.FailurePolicy = new(ignore)
	later := func(t testing.TB, srv *miniapitest.Server) {
		t.Helper()
		install(t.(*testing.T), srv, mutating("b-later", patch(miniapitest.Add("/metadata/labels/b", "1"))))
	}
	return []policyQuestion{
		{name: "no binding", reason: "a policy without a binding has no effect", install: func(t testing.TB, srv *miniapitest.Server) {
			t.Helper()
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("asked"), Spec: validations(admissionregistrationv1.Validation{Expression: "false"})})
		}, want: trace.NoBinding},
		{name: "a rule of another group", reason: "rules name the groups",
			install: constrains(func(m *admissionregistrationv1.MatchResources) { m.ResourceRules[0].APIGroups = []string{"apps"} }),
			want:    trace.RuleGroup, field: "spec.matchConstraints.resourceRules[0].apiGroups"},
		{name: "a rule of another resource", reason: "rules name the resources",
			install: constrains(func(m *admissionregistrationv1.MatchResources) { m.ResourceRules[0].Resources = []string{"pods"} }),
			want:    trace.RuleResource, field: "spec.matchConstraints.resourceRules[0].resources"},
		{name: "a rule of another operation", reason: "rules name the operations", install: constrains(func(m *admissionregistrationv1.MatchResources) {
			m.ResourceRules[0].Operations = []admissionregistrationv1.OperationType{"UPDATE"}
		}), want: trace.RuleOperation, field: "spec.matchConstraints.resourceRules[0].operations"},
		{name: "resourceNames", reason: "the rule names other objects",
			install: constrains(func(m *admissionregistrationv1.MatchResources) { m.ResourceRules[0].ResourceNames = []string{"other"} }),
			want:    trace.RuleName, field: "spec.matchConstraints.resourceRules[0].resourceNames"},
		{name: "excludeResourceRules", reason: "a rule excludes the resource", install: constrains(func(m *admissionregistrationv1.MatchResources) {
			m.ExcludeResourceRules = matchResources("*", "*", "configmaps").ResourceRules
		}), want: trace.RuleExcluded, field: "spec.matchConstraints.excludeResourceRules[0]"},
		{name: "the policy's namespaceSelector", reason: "the namespace lacks the label", install: constrains(func(m *admissionregistrationv1.MatchResources) {
			m.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
		}), want: trace.NamespaceSelector, field: `spec.matchConstraints.namespaceSelector.matchLabels["env"]`},
		{name: "the policy's objectSelector", reason: "the label has another value", install: constrains(func(m *admissionregistrationv1.MatchResources) {
			m.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		}), want: trace.ObjectSelector, field: `spec.matchConstraints.objectSelector.matchLabels["app"]`},
		{name: "the binding's rules", reason: "the binding narrows the policy", install: validates(func(_ *admissionregistrationv1.ValidatingAdmissionPolicySpec, bound *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
			bound.MatchResources = matchResources("DELETE", "v1", "configmaps")
		}), want: trace.RuleOperation, field: "spec.matchResources.resourceRules[0].operations"},
		{name: "the binding's namespaceSelector", reason: "the binding is for other namespaces", install: validates(func(_ *admissionregistrationv1.ValidatingAdmissionPolicySpec, bound *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
			bound.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}
		}), want: trace.NamespaceSelector, field: `spec.matchResources.namespaceSelector.matchLabels["env"]`},
		{name: "the policy's matchCondition is false", reason: "all conditions must be true",
			install: conditional(fail, "request.userInfo.username == 'alice'"), want: trace.MatchConditionFalse,
			field: "spec.matchConditions[0] (only)"},
		{name: "the policy's matchCondition fails, ignored", reason: "failurePolicy Ignore leaves the policy out",
			install: conditional(ignore, "object.data.missing == 'x'"), want: trace.MatchConditionFailed,
			field: "spec.matchConditions[0] (only)"},
		{name: "the policy's matchCondition fails", reason: "failurePolicy Fail refuses the request",
			install: conditional(fail, "object.data.missing == 'x'"), want: trace.MatchConditionRefused,
			field: "spec.matchConditions[0] (only)"},
		{name: "parameters aren't found, allowed", reason: "parameterNotFoundAction Allow leaves the binding out",
			install: parameterized(admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}, admissionregistrationv1.AllowAction),
			want:    trace.ParamsMissing, field: "spec.paramRef"},
		{name: "parameters aren't found, denied", reason: "parameterNotFoundAction Deny refuses the request",
			install: parameterized(admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}, admissionregistrationv1.DenyAction),
			want:    trace.ParamsRequired, field: "spec.paramRef.parameterNotFoundAction", says: "failurePolicy is Fail"},
		{name: "parameters of an unknown kind", reason: "the server doesn't serve the kind",
			install: parameterized(admissionregistrationv1.ParamKind{APIVersion: "example.com/v1", Kind: "Widget"}, admissionregistrationv1.AllowAction),
			want:    trace.PolicyFailed, says: "example.com/v1, Kind=Widget"},
		{name: "all validations are true", reason: "the request passes", install: validates(unchangedPolicy),
			want: trace.Matched, field: "spec.matchConstraints.resourceRules[0]", evaluated: true,
			says: "it allowed the request"},
		{name: "a validation is false", reason: "the action Deny refuses",
			install: judges(fail, "variables.size <= 2", deny), want: trace.ValidationFalse,
			field: "spec.validations[0].expression", evaluated: true,
			says: "is false: variables.size <= 2 (spec.variables[0] (size) = 3), and validationActions has Deny, so the request was refused: at most 2"},
		{name: "a validation is false, reported", reason: "the action Warn refuses nothing",
			install: judges(fail, "variables.size <= 2", warn), want: trace.ValidationReported,
			field: "spec.validations[0].expression", evaluated: true, says: "validationActions is [Warn]"},
		{name: "a validation fails", reason: "failurePolicy Fail refuses the request",
			install: judges(fail, "object.data.missing == 'x'", deny), want: trace.ExpressionFailed,
			field: "spec.validations[0].expression", evaluated: true, says: "no such key: missing"},
		{name: "a validation fails, reported", reason: "the action Warn refuses nothing",
			install: judges(fail, "object.data.missing == 'x'", warn), want: trace.ExpressionReported,
			field: "spec.validations[0].expression", evaluated: true, says: "no such key: missing"},
		{name: "a validation fails, ignored", reason: "failurePolicy Ignore lets the request pass",
			install: judges(ignore, "object.data.missing == 'x'", deny), want: trace.ExpressionIgnored,
			field: "spec.validations[0].expression", evaluated: true, says: "failurePolicy is Ignore"},
		{name: "a mutation changes the object", reason: "the policy applies", kind: trace.MutatingPolicy,
			install: mutates(neverPatched), want: trace.Matched, field: "spec.matchConstraints.resourceRules[0]",
			evaluated: true, again: trace.ReinvocationNever, says: "it changed the object"},
		{name: "the policy's reinvocationPolicy Never", reason: "a later webhook changed the object",
			kind: trace.MutatingPolicy, install: with(later, mutates(neverPatched)), want: trace.Matched,
			field: "spec.matchConstraints.resourceRules[0]", evaluated: true, again: trace.ReinvocationNever,
			says: "The second round didn't evaluate it: spec.reinvocationPolicy is Never"},
		{name: "a patch can't be applied, ignored", reason: "failurePolicy Ignore lets the request pass",
			kind: trace.MutatingPolicy, install: mutates(failing), want: trace.ExpressionIgnored,
			field: "spec.mutations[0].jsonPatch.expression", evaluated: true},
		{name: "a deletion and a mutating policy", reason: "a deletion has no object to change", kind: trace.MutatingPolicy, install: mutates(neverPatched), request: func(ctx context.Context, srv *miniapitest.Server) error {
			withData := func(c *corev1.ConfigMap) { c.Data = map[string]string{"size": "3"} }
			if err := askedFor("default", withData)(ctx, srv); err != nil {
				return err
			}
			return deleteAsked(ctx, srv)
		}, want: trace.NoDeletion},
		{name: "a plugin refuses before the policy", reason: "the namespace doesn't exist",
			install: validates(unchangedPolicy), kind: trace.ValidatingPolicy,
			request: askedFor("missing", unchangedConfigMap), want: trace.RefusedEarlier},
		{name: "an invalid object before the policy", reason: "validation comes before validating policies",
			install: validates(unchangedPolicy),
			request: dryRunOf(func(c *corev1.ConfigMap) { c.Data = map[string]string{"a b": ""} }),
			want:    trace.Invalid},
		{name: "a policy about policies", reason: "a policy can't stand in the way of its own repair", install: validates(func(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec, _ *admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
			spec.MatchConstraints = matchResources("*", "*", "*")
		}), resource: "validatingadmissionpolicies", request: func(ctx context.Context, srv *miniapitest.Server) error {
			policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("thing"), Spec: validations(admissionregistrationv1.Validation{Expression: "true"})}
			policy.Spec.MatchConstraints = matchResources("*", "v1", "configmaps")
			_, err := srv.Client().AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{DryRun: dry})
			return err
		}, want: trace.ExemptConfiguration},
		{name: "a policy configured after the request", reason: "a policy applies only to later requests", install: with(func(t testing.TB, srv *miniapitest.Server) {
			t.Helper()
			ok(t, dryRunOf(unchangedConfigMap)(t.Context(), srv))
		}, validates(unchangedPolicy)), request: func(context.Context, *miniapitest.Server) error { return nil }, want: trace.ConfiguredLater},
		{name: "no such policy", reason: "no policy has this name and kind",
			install: func(testing.TB, *miniapitest.Server) {}, want: trace.NotConfigured},
	}
}

// For each row of the table of policies in docs/trace.md, the server's answer to the question why a policy doesn't
// apply has the reason and the field of the row.
func TestWhyAPolicyDoesNotApply(t *testing.T) {
	t.Parallel()
	documented := documentedQuestions(t, "| cause of a policy | reason |")
	for _, test := range policyQuestions() {
		if documented[test.name] != string(test.want) {
			t.Errorf("%s: docs/trace.md must have a row with the reason %s, and has %q", test.name, test.want, documented[test.name])
		}
		delete(documented, test.name)
	}
	delete(documented, "the policy's plugin is off") // the row needs a server with the plugin off
	for name := range documented {
		t.Errorf("docs/trace.md has the row %q, which no test proves", name)
	}
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	for _, test := range policyQuestions() {
		t.Run(test.name, func(t *testing.T) {
			t.Cleanup(func() { ok(t, srv.Reset()) })
			kind, resource := orElse(test.kind, trace.ValidatingPolicy), orElse(test.resource, "configmaps")
			test.install(t, srv)
			if test.request == nil {
				test.request = dryRunOf(unchangedConfigMap)
			}
			_ = test.request(t.Context(), srv) // the request may fail, and the answer explains the error
			namespace := "default"
			if test.want == trace.RefusedEarlier {
				namespace = "missing"
			}

			got := why(t, srv, kind+"/asked", resource, namespace, "thing")

			if got.Verdict.Reason != test.want || got.Verdict.Field != test.field || got.Called != test.evaluated {
				t.Errorf("%s: want evaluated %t by %s at %q, got %+v\n%s", test.reason, test.evaluated, test.want, test.field, got, got.Sentence)
			}
			if again := got.Again; again != nil && again.Reason != test.again || again == nil && test.again != "" {
				t.Errorf("%s: want %q for the second round, got %+v", test.reason, test.again, again)
			}
			if !strings.Contains(got.Sentence, test.field) || !strings.Contains(got.Sentence, test.says) {
				t.Errorf("want a sentence with %q and %q, got: %s", test.field, test.says, got.Sentence)
			}
		})
	}
}

// If the plugin that evaluates a policy is off, the answer to the question why the policy doesn't apply names the
// plugin.
func TestWhyThePolicyPluginIsOff(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording), miniapitest.WithoutAdmissionPlugins(trace.ValidatingPolicy))
	validates(unchangedPolicy)(t, srv)
	ok(t, askedFor("default", unchangedConfigMap)(t.Context(), srv))
	got := why(t, srv, trace.ValidatingPolicy+"/asked/asked", "configmaps", "default", "thing")
	if got.Verdict.Reason != trace.PluginOff || !strings.Contains(got.Sentence, trace.ValidatingPolicy+" is off") {
		t.Errorf("want the plugin to be named, got %+v", got)
	}
}

// For a policy with two bindings, there is an answer for each binding. A question about a request that isn't made gets
// an answer, too.
func TestWhyPoliciesForRequestsThatAreNotMade(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	inProduction := binding(admissionregistrationv1.Warn)
	inProduction.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: named("asked"),
		Spec:       validations(admissionregistrationv1.Validation{Expression: "request.userInfo.username != 'alice'", Message: "not alice"}),
	}, binding(admissionregistrationv1.Deny), inProduction)
	asks := func(policy, user string) []trace.Answer {
		t.Helper()
		body := must(json.Marshal(admissiontrace.Evaluation{
			Webhook: trace.ValidatingPolicy + "/" + policy, User: user, Groups: []string{"system:masters"},
			Object: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"thing"}}`),
		}))(t)
		var got admissiontrace.Why
		ok(t, json.Unmarshal(must(srv.Client().Discovery().RESTClient().Post().AbsPath(admissiontrace.WhyPath).Body(body).DoRaw(t.Context()))(t), &got))
		return got.Answers
	}
	both := asks("asked", "alice")
	if len(both) != 2 || !both[0].Called || both[0].Verdict.Reason != trace.ValidationFalse || both[1].Called || both[1].Verdict.Reason != trace.NamespaceSelector {
		t.Errorf("want the first binding to refuse and the second not to match, got %+v", both)
	}
	for _, answer := range both {
		if !strings.Contains(answer.Sentence, "be evaluated for CREATE of configmaps default/thing by alice") {
			t.Errorf("want a sentence about a request that isn't made, got %s", answer.Sentence)
		}
	}
	one := asks("asked/asked", "bob")
	if len(one) != 1 || one[0].Verdict.Reason != trace.Matched || !one[0].Called {
		t.Errorf("want bob to be allowed, got %+v", one)
	}
	if other := asks("asked/none", "bob"); len(other) != 1 || other[0].Verdict.Reason != trace.NotConfigured {
		t.Errorf("want no such binding, got %+v", other)
	}
}
