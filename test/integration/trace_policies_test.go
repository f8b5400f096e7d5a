package integration_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// policyTimeline returns the lines below a step in the wide timeline of a request. A step is a call of a plugin in a
// round. The lines don't have the content of managed fields, because this content has times.
func policyTimeline(t testing.TB, request *trace.Request, step string) string {
	t.Helper()
	var text strings.Builder
	ok(t, trace.WriteTimeline(&text, request, trace.Wide))
	_, after, found := strings.Cut(text.String(), "\n  "+step)
	if !found {
		t.Fatalf("no step %s in\n%s", step, text.String())
	}
	var lines []string
	for _, line := range strings.Split(after, "\n")[1:] {
		if !strings.HasPrefix(line, "    ") {
			break
		}
		lines = append(lines, line[4:])
	}
	return regexp.MustCompile(`managedFields: .*`).ReplaceAllString(strings.Join(lines, "\n"), "managedFields")
}

// A recorded request has every policy and binding, with the reason why it applies or not, its parameters, and the
// values of its expressions.
func TestPoliciesAreRecorded(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	core := srv.Client().CoreV1()
	for name, limit := range map[string]string{"large": "5", "small": "2"} {
		must(core.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"limit": limit}}, metav1.CreateOptions{}))(t)
	}
	const (
		deny  = admissionregistrationv1.Deny
		warn  = admissionregistrationv1.Warn
		audit = admissionregistrationv1.Audit
	)
	binding := func(actions ...admissionregistrationv1.ValidationAction) admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec {
		return admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{ValidationActions: actions}
	}
	withParam := func(b admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec, name string) admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec {
		b.ParamRef = &admissionregistrationv1.ParamRef{Name: name, Namespace: "default", ParameterNotFoundAction: new(admissionregistrationv1.AllowAction)}
		return b
	}
	inProductionAlone := binding(deny)
	inProductionAlone.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}
	excluding, forNames := matchResources("*", "v1", "configmaps"), matchResources("*", "v1", "configmaps")
	excluding.ExcludeResourceRules = matchResources("*", "*", "configmaps").ResourceRules
	forNames.ResourceRules[0].ResourceNames = []string{"other"}

	tests := []struct {
		name, reason string
		spec         admissionregistrationv1.ValidatingAdmissionPolicySpec
		bindings     []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec
		want         string
		refused      string
	}{{
		name:   "all",
		reason: "conditions, variables, validations, messages and annotations have their values, for each object with parameters",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			ParamKind:       &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "sized", Expression: "has(object.data.size)"}},
			Variables: []admissionregistrationv1.Variable{
				{Name: "size", Expression: "int(object.data.size)"},
				{Name: "limit", Expression: "int(params.data.limit)"}, {Name: "unused", Expression: "1/0"},
			},
			Validations: []admissionregistrationv1.Validation{
				{Expression: "variables.size <= variables.limit", MessageExpression: `"at most " + string(variables.limit)`},
				{Expression: "variables.size > 0"},
			},
			AuditAnnotations: []admissionregistrationv1.AuditAnnotation{{Key: "size", ValueExpression: "string(object.data.size)"}},
		},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{withParam(binding(deny), "small"),
			withParam(binding(warn, audit), "large"), withParam(binding(deny), "missing")},
		want: `ValidatingAdmissionPolicy/all matches
  binding all (Deny) with ConfigMap default/small: denied
    spec.matchConditions[0] (sized): has(object.data.size) = true
    spec.variables[0] (size): int(object.data.size) = 3
    spec.variables[1] (limit): int(params.data.limit) = 2
    spec.validations[0].expression: variables.size <= variables.limit = false
      variables.size = 3
      variables.limit = 2
      at most 2
    spec.validations[1].expression: variables.size > 0 = true
    spec.validations[0].messageExpression: "at most " + string(variables.limit) = "at most 2"
    spec.auditAnnotations[0] (size): string(object.data.size) = "3"
  binding all-b (Warn, Audit) with ConfigMap default/large: allowed
    spec.matchConditions[0] (sized): has(object.data.size) = true
    spec.variables[0] (size): int(object.data.size) = 3
    spec.variables[1] (limit): int(params.data.limit) = 5
    spec.validations[0].expression: variables.size <= variables.limit = true
    spec.validations[1].expression: variables.size > 0 = true
    spec.validations[0].messageExpression: "at most " + string(variables.limit) = "at most 5"
    spec.auditAnnotations[0] (size): string(object.data.size) = "3"
  binding all-c doesn't apply: spec.paramRef finds no parameters, and parameterNotFoundAction is Allow`,
		refused: "ValidatingAdmissionPolicy/all/all",
	}, {
		name: "reported", reason: "a binding without Deny refuses nothing",
		spec:     validations(admissionregistrationv1.Validation{Expression: "false", Message: "never"}),
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(warn)},
		want: `ValidatingAdmissionPolicy/reported matches
  binding reported (Warn): reported
    spec.validations[0].expression: false = false
      never`,
	}, {
		name: "elsewhere", reason: "the binding's selector decides",
		spec:     validations(admissionregistrationv1.Validation{Expression: "false"}),
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{inProductionAlone},
		want: `ValidatingAdmissionPolicy/elsewhere matches
  binding elsewhere doesn't apply: spec.matchResources.namespaceSelector.matchLabels["env"] requires env=prod, and namespace "default" has no label env`,
	}, {
		name: "unbound", reason: "a policy without a binding has no effect",
		spec: validations(admissionregistrationv1.Validation{Expression: "false"}),
		want: `ValidatingAdmissionPolicy/unbound not evaluated: the policy has no binding`,
	}, {
		name: "secrets", reason: "the rule names another resource",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: matchResources("*", "v1", "secrets"),
			Validations: []admissionregistrationv1.Validation{{Expression: "false"}}},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(deny)},
		want:     `ValidatingAdmissionPolicy/secrets not evaluated: spec.matchConstraints.resourceRules[0].resources is ["secrets"], and the resource of the request is configmaps`,
	}, {
		name: "excluded", reason: "a rule excludes the resource",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: excluding,
			Validations: []admissionregistrationv1.Validation{{Expression: "false"}}},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(deny)},
		want:     `ValidatingAdmissionPolicy/excluded not evaluated: spec.matchConstraints.excludeResourceRules[0] excludes the request`,
	}, {
		name: "names", reason: "the rule names other objects",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: forNames,
			Validations: []admissionregistrationv1.Validation{{Expression: "false"}}},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(deny)},
		want:     `ValidatingAdmissionPolicy/names not evaluated: spec.matchConstraints.resourceRules[0].resourceNames is ["other"], and the name of the object is "thing"`,
	}, {
		name: "condition", reason: "a condition that is false leaves the request out",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "alice", Expression: "request.userInfo.username == 'alice'"}},
			Validations:     []admissionregistrationv1.Validation{{Expression: "false"}},
		},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(deny)},
		want: `ValidatingAdmissionPolicy/condition matches
  binding condition (Deny) not evaluated: spec.matchConditions[0] (alice) is false: request.userInfo.username == 'alice'
    spec.matchConditions[0] (alice): request.userInfo.username == 'alice' = false
      request.userInfo.username = "system:admin"`,
	}, {
		name: "failing", reason: "an expression that fails refuses by failurePolicy Fail",
		spec:     validations(admissionregistrationv1.Validation{Expression: "object.data.missing == 'x'"}),
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(deny)},
		want: `ValidatingAdmissionPolicy/failing matches
  binding failing (Deny): failed
    spec.validations[0].expression: object.data.missing == 'x' = error: expression 'object.data.missing == 'x'' resulted in error: no such key: missing
      object.data.missing failed: no such key: missing
      expression 'object.data.missing == 'x'' resulted in error: no such key: missing`,
		refused: "ValidatingAdmissionPolicy/failing/failing",
	}, {
		name: "ignored", reason: "failurePolicy Ignore lets the request pass",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Ignore),
			Validations:   []admissionregistrationv1.Validation{{Expression: "object.data.missing == 'x'"}},
		},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(deny)},
		want: `ValidatingAdmissionPolicy/ignored matches
  binding ignored (Deny): failed open
    spec.validations[0].expression: object.data.missing == 'x' = error: expression 'object.data.missing == 'x'' resulted in error: no such key: missing
      object.data.missing failed: no such key: missing
      expression 'object.data.missing == 'x'' resulted in error: no such key: missing`,
	}, {
		name: "unknown", reason: "a kind of parameters that isn't served refuses by failurePolicy Fail",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			ParamKind:   &admissionregistrationv1.ParamKind{APIVersion: "example.com/v1", Kind: "Widget"},
			Validations: []admissionregistrationv1.Validation{{Expression: "true"}},
		},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{withParam(binding(deny), "x")},
		want:     `ValidatingAdmissionPolicy/unknown not evaluated: it couldn't be set up, and failurePolicy is Fail: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Widget'`,
		refused:  "ValidatingAdmissionPolicy/unknown",
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(test.name), Spec: test.spec}, test.bindings...)
			_, err := core.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("thing"), Data: map[string]string{"size": "3"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			requests := recorded(t, srv, "configmaps")
			request := requests[len(requests)-1]
			if diff := cmp.Diff(test.want, policyTimeline(t, request, "ValidatingAdmissionPolicy")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			refused := ""
			if r := request.Admissions[0].Refused; r != nil && r.Policy != nil {
				refused = r.Policy.String()
			}
			if refused != test.refused || (err != nil) != (test.refused != "") {
				t.Errorf("%s: want to be refused by %q, got %q, error %v", test.reason, test.refused, refused, err)
			}
		})
	}
}

// A recorded request has the mutations by policies in each round: the values of the expressions, and the object before
// and after.
func TestMutatingPoliciesAreRecorded(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	core := srv.Client().CoreV1()
	for _, size := range []string{"1", "2"} {
		must(core.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "size-" + size, Labels: map[string]string{"sizes": "all"}},
			Data:       map[string]string{"size": size},
		}, metav1.CreateOptions{}))(t)
	}
	first := mutations(patches(`[JSONPatch{op: "add", path: "/metadata/labels", value: {"team": variables.team}}]`), applies(`Object{data: {"a": "1"}}`))
	first.Variables = []admissionregistrationv1.Variable{{Name: "team", Expression: "'blue'"}}
	first.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "created", Expression: "request.operation == 'CREATE'"}}
	mutate(t, srv, "a-first", first, nil)
	sized := mutations(applies(`Object{data: {"size-" + params.data.size: params.metadata.name}}`))
	sized.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	sized.ReinvocationPolicy = admissionregistrationv1.IfNeededReinvocationPolicy
	mutate(t, srv, "b-sized", sized, &admissionregistrationv1.ParamRef{Name: "size-2", Namespace: "default", ParameterNotFoundAction: new(admissionregistrationv1.DenyAction)})
	install(t, srv, mutating("webhook", patch(miniapitest.Add("/data/webhook", "1"))))

	ok(t, askedFor("default", func(c *corev1.ConfigMap) { c.Name, c.Labels = "thing", nil })(t.Context(), srv))
	requests := recorded(t, srv, "configmaps")
	request := requests[len(requests)-1]
	const round0 = `MutatingAdmissionPolicy/a-first matches
  binding a-first: allowed
    spec.matchConditions[0] (created): request.operation == 'CREATE' = true
    spec.variables[0] (team): 'blue' = "blue"
    spec.mutations[0].jsonPatch.expression: [JSONPatch{op: "add", path: "/metadata/labels", value: {"team": variables.team}}] = [{"op":"add","path":"/metadata/labels","value":{"team":"blue"}}]
    spec.mutations[1].applyConfiguration.expression: Object{data: {"a": "1"}} = {"data":{"a":"1"}}
    + data: {"a":"1"}
    + metadata.labels: {"team":"blue"}
MutatingAdmissionPolicy/b-sized matches
  binding b-sized with ConfigMap default/size-2: allowed
    spec.mutations[0].applyConfiguration.expression: Object{data: {"size-" + params.data.size: params.metadata.name}} = {"data":{"size-2":"size-2"}}
    + data.size-2: "size-2"`
	if diff := cmp.Diff(round0, policyTimeline(t, request, "MutatingAdmissionPolicy (mutating, round 0)")); diff != "" {
		t.Errorf("round 0 (-want +got):\n%s", diff)
	}
	const round1 = `MutatingAdmissionPolicy/a-first matches
  binding a-first not evaluated: spec.reinvocationPolicy is Never, so the second round doesn't call it again
    spec.matchConditions[0] (created): request.operation == 'CREATE' = true
MutatingAdmissionPolicy/b-sized matches
  binding b-sized with ConfigMap default/size-2: allowed
    spec.mutations[0].applyConfiguration.expression: Object{data: {"size-" + params.data.size: params.metadata.name}} = {"data":{"size-2":"size-2"}}`
	if diff := cmp.Diff(round1, policyTimeline(t, request, "MutatingAdmissionPolicy (mutating, round 1)")); diff != "" {
		t.Errorf("round 1 (-want +got):\n%s", diff)
	}
}

// The record of an evaluation has the parameter object as clients read it, with its apiVersion and kind.
func TestRecordedParameters(t *testing.T) {
	t.Parallel()
	kind := &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	ref := &admissionregistrationv1.ParamRef{Name: "limits", Namespace: "default", ParameterNotFoundAction: new(admissionregistrationv1.DenyAction)}
	for _, test := range []struct {
		name, reason string
		install      func(testing.TB, *miniapitest.Server)
	}{
		{"validating", "k8s.io/apiserver adds the kind to an object of a built-in kind", func(t testing.TB, srv *miniapitest.Server) {
			spec := validations(admissionregistrationv1.Validation{Expression: "params.data.limit != ''"})
			spec.ParamKind = kind
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("limited"), Spec: spec},
				admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, ParamRef: ref})
		}},
		{"mutating", "k8s.io/apiserver evaluates an object of a built-in kind without the kind", func(t testing.TB, srv *miniapitest.Server) {
			spec := mutations(applies(`Object{data: {"limit": params.data.limit}}`))
			spec.ParamKind = kind
			mutate(t, srv, "limited", spec, ref)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
			limits := must(srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("limits"), Data: map[string]string{"limit": "5"}}, metav1.CreateOptions{}))(t)
			test.install(t, srv)
			ok(t, askedFor("default", func(c *corev1.ConfigMap) { c.Name = "thing" })(t.Context(), srv))
			requests := recorded(t, srv, "configmaps")
			limits.APIVersion, limits.Kind = "v1", "ConfigMap"
			evaluations := 0 // a mutating policy may have one in each round
			for _, step := range requests[len(requests)-1].Admissions[0].Steps {
				for _, policy := range step.Policies {
					var object corev1.ConfigMap
					ok(t, json.Unmarshal(policy.Bindings[0].Evaluations[0].Param.Object, &object))
					if diff := cmp.Diff(*limits, object); diff != "" {
						t.Errorf("%s (-want +got):\n%s", test.reason, diff)
					}
					evaluations++
				}
			}
			if evaluations == 0 {
				t.Errorf("%s, but no evaluation is recorded", test.reason)
			}
		})
	}
}

// For a Secret, the record of a request has the values of expressions only if they are true or false.
func TestRecordedExpressionsHideSecrets(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.WithFlags(recording))
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("secrets"), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matchResources("CREATE", "v1", "secrets"),
		Variables:        []admissionregistrationv1.Variable{{Name: "p", Expression: "object.data.p"}},
		Validations:      []admissionregistrationv1.Validation{{Expression: "variables.p != ''"}},
	}}, admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}})
	secret := &corev1.Secret{ObjectMeta: named("s"), Data: map[string][]byte{"p": []byte("geheim")}}
	must(srv.Client().CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}))(t)

	requests := recorded(t, srv, "secrets")
	kept, err := json.Marshal(requests)
	ok(t, err)
	if strings.Contains(string(kept), "Z2VoZWlt") {
		t.Errorf("want no secret in %s", kept)
	}
	const want = `ValidatingAdmissionPolicy/secrets matches
  binding secrets (Deny): allowed
    spec.variables[0] (p): object.data.p = (redacted)
    spec.validations[0].expression: variables.p != '' = true`
	if diff := cmp.Diff(want, policyTimeline(t, requests[0], "ValidatingAdmissionPolicy")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
