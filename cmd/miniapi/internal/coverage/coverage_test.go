package coverage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

const configuration = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: pods.example.com
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods, "pods/*"]}
  namespaceSelector: {matchLabels: {a: b}}
  objectSelector: {matchLabels: {c: d}}
  matchConditions:
  - {name: first, expression: request.name != 'a'}
`

const conditional = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks:
- name: pods.example.com
  matchConditions:
  - {name: first, expression: "request.resource.resource == 'pods' && object.metadata.name != 'a'"}
  - {name: second, expression: "has(object.metadata.labels) || authorizer.group('').resource('pods').check('get').allowed()"}
`

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rules.example.com}
spec:
  group: example.com
  names: {kind: Rule}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            x-kubernetes-validations:
            - {rule: self.a != oldSelf.a, message: a must change}
            properties:
              list:
                items:
                  x-kubernetes-validations:
                  - {rule: self.size() > 1}
`

const typedDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rules.example.com}
spec:
  group: example.com
  names: {kind: Rule}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "!has(self.b) || self.b > 1", message: b must be more}
            properties:
              b: {type: integer}
              list:
                type: array
                items:
                  type: string
                  x-kubernetes-validations:
                  - {rule: "self.startsWith('x') || self.size() > 1"}
`

const bindingAlone = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: bound}
spec:
  policyName: policy
`

// Each part of a record counts for the outcomes that it shows, and for no others.
func TestAdd(t *testing.T) {
	t.Parallel()
	pods := trace.Resource{Version: "v1", Resource: "pods"}
	called := func(verdict trace.Verdict, call *trace.Call) *trace.Step {
		return &trace.Step{Webhooks: []*trace.Webhook{{Reference: trace.Reference{Kind: trace.ValidatingConfiguration, Name: "checks"}, Verdict: verdict, Call: call}}}
	}
	matches := trace.Verdict{Reason: trace.Matched, Field: "webhooks[0].rules[0]"}
	rule := trace.Kind{Group: "example.com", Version: "v1", Kind: "Rule"}
	const (
		ofFirst  = "webhooks[0].matchConditions[0].expression: "
		ofSecond = "webhooks[0].matchConditions[1].expression: "
		ofSpec   = "spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule: "
		ofItems  = "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.list.items.x-kubernetes-validations[0].rule: "
	)
	for _, test := range []struct {
		name, reason, manifest string
		resource               trace.Resource
		pass                   trace.Admission
		// missing are the outcomes that are still missing, as FIELD: OUTCOME.
		missing []string
	}{
		{"nothing", "no part of the configuration is reached", configuration, pods, trace.Admission{}, []string{
			"webhooks[0]: never called", "webhooks[0].rules[0].operations[0]: no case has the operation *",
			"webhooks[0].rules[0].resources[0]: no case is for pods", "webhooks[0].rules[0].resources[1]: no case is for pods/*",
			"webhooks[0].namespaceSelector: no case matches", "webhooks[0].namespaceSelector: no case is ruled out",
			"webhooks[0].objectSelector: no case matches", "webhooks[0].objectSelector: no case is ruled out",
			"webhooks[0].matchConditions[0].expression: never evaluated"}},
		{"called", "all conditions are true, and pods/* has pods itself", configuration, pods,
			trace.Admission{Operation: "CREATE", Steps: []*trace.Step{called(matches, &trace.Call{})}}, []string{
				"webhooks[0].namespaceSelector: no case is ruled out", "webhooks[0].objectSelector: no case is ruled out", "webhooks[0].matchConditions[0].expression: never false"}},
		{"subresource", "only the pattern matches", configuration, trace.Resource{Version: "v1", Resource: "pods", Subresource: "exec"},
			trace.Admission{Operation: "CONNECT", Steps: []*trace.Step{called(matches, &trace.Call{})}}, []string{
				"webhooks[0].rules[0].resources[0]: no case is for pods",
				"webhooks[0].namespaceSelector: no case is ruled out", "webhooks[0].objectSelector: no case is ruled out", "webhooks[0].matchConditions[0].expression: never false"}},
		{"both selectors", "each rules the request out", configuration, pods,
			trace.Admission{Operation: "CREATE", Steps: []*trace.Step{called(trace.Verdict{Reason: trace.NamespaceSelector, Field: "webhooks[0].namespaceSelector", Also: []string{"webhooks[0].objectSelector"}}, nil)}}, []string{
				"webhooks[0]: never called", "webhooks[0].rules[0].operations[0]: no case has the operation *",
				"webhooks[0].rules[0].resources[0]: no case is for pods", "webhooks[0].rules[0].resources[1]: no case is for pods/*",
				"webhooks[0].namespaceSelector: no case matches", "webhooks[0].objectSelector: no case matches", "webhooks[0].matchConditions[0].expression: never evaluated"}},
		{"other rule", "a request that no rule matches says nothing about selectors", configuration, pods,
			trace.Admission{Operation: "CREATE", Steps: []*trace.Step{called(trace.Verdict{Reason: trace.RuleResource, Field: "webhooks[0].rules[0].resources", Also: []string{"webhooks[0].objectSelector"}}, nil)}}, []string{
				"webhooks[0]: never called", "webhooks[0].rules[0].operations[0]: no case has the operation *",
				"webhooks[0].rules[0].resources[0]: no case is for pods", "webhooks[0].rules[0].resources[1]: no case is for pods/*",
				"webhooks[0].namespaceSelector: no case matches", "webhooks[0].namespaceSelector: no case is ruled out",
				"webhooks[0].objectSelector: no case matches", "webhooks[0].objectSelector: no case is ruled out",
				"webhooks[0].matchConditions[0].expression: never evaluated"}},
		{"false condition", "the selectors match", configuration, pods,
			trace.Admission{Operation: "CREATE", Steps: []*trace.Step{called(trace.Verdict{Reason: trace.MatchConditionFalse, Field: "webhooks[0].matchConditions[0] (first)"}, nil)}}, []string{
				"webhooks[0]: never called", "webhooks[0].rules[0].operations[0]: no case has the operation *",
				"webhooks[0].rules[0].resources[0]: no case is for pods", "webhooks[0].rules[0].resources[1]: no case is for pods/*",
				"webhooks[0].namespaceSelector: no case is ruled out", "webhooks[0].objectSelector: no case is ruled out", "webhooks[0].matchConditions[0].expression: never true"}},
		{"conditions of a called webhook", "the review has the values", conditional, pods,
			trace.Admission{Steps: []*trace.Step{called(trace.Verdict{Reason: trace.Matched}, &trace.Call{
				Request: json.RawMessage(`{"request": {"resource": {"resource": "pods"}, "object": {"metadata": {"name": "b", "labels": {}}}}}`)})}}, []string{
				ofFirst + "never false", ofFirst + "never false", ofFirst + "never false", ofSecond + "never false", ofSecond + "never false", ofSecond + "never evaluated"}},
		{"conditions of a webhook that isn't called", "the object of the request has the values", conditional, pods,
			trace.Admission{Object: json.RawMessage(`{"metadata": {"name": "a"}}`), Steps: []*trace.Step{called(trace.Verdict{Reason: trace.MatchConditionFalse, Field: "webhooks[0].matchConditions[0] (first)"}, nil)}}, []string{
				"webhooks[0]: never called", ofFirst + "never true", ofFirst + "never false", ofFirst + "never true", ofSecond + "never evaluated", ofSecond + "never evaluated", ofSecond + "never evaluated"}},
		{"condition about the authorizer", "it has no value here, and counts as recorded", conditional, pods,
			trace.Admission{Object: json.RawMessage(`{"metadata": {"name": "b"}}`), Steps: []*trace.Step{called(trace.Verdict{Reason: trace.MatchConditionFalse, Field: "webhooks[0].matchConditions[1] (second)"}, nil)}}, []string{
				"webhooks[0]: never called", ofFirst + "never false", ofFirst + "never false", ofFirst + "never false", ofSecond + "never true", ofSecond + "never evaluated", ofSecond + "never evaluated"}},
		{"valid object", "a transition rule needs an old object, and the other one an element", definition, trace.Resource{},
			trace.Admission{Kind: rule, Validation: &trace.Validation{}, Admitted: json.RawMessage(`{"spec":{"a":1,"list":["xy"]}}`)}, []string{
				"spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule: never evaluated",
				"spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.list.items.x-kubernetes-validations[0].rule: never false"}},
		{"valid update", "the transition is valid, and the list is empty", definition, trace.Resource{},
			trace.Admission{Kind: rule, Validation: &trace.Validation{}, Admitted: json.RawMessage(`{"spec":{"a":1,"list":[]}}`), OldObject: json.RawMessage(`{"spec":{"a":2}}`)}, []string{
				"spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule: never false",
				"spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.list.items.x-kubernetes-validations[0].rule: never evaluated"}},
		{"invalid object", "the error names the rules that are false", definition, trace.Resource{},
			trace.Admission{Kind: rule, Validation: &trace.Validation{Error: &trace.Error{Message: "[spec: Invalid value: a must change, spec.list[0]: Invalid value: failed rule: self.size() > 1]"}}}, []string{
				"spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0].rule: never true",
				"spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.list.items.x-kubernetes-validations[0].rule: never true"}},
		{"conditions", "each condition of a rule has outcomes of its own, for each element", typedDefinition, trace.Resource{},
			trace.Admission{Kind: rule, Validation: &trace.Validation{}, Admitted: json.RawMessage(`{"spec":{"b":2,"list":["x","yy"]}}`)}, []string{
				ofSpec + "never false", ofSpec + "never false", ofSpec + "never false", ofItems + "never false", ofItems + "never false"}},
		{"conditions of an invalid object", "the object of the request has the values", typedDefinition, trace.Resource{},
			trace.Admission{Kind: rule, Validation: &trace.Validation{Error: &trace.Error{Message: "spec: Invalid value: b must be more"}}, Object: json.RawMessage(`{"spec":{"b":1}}`)}, []string{
				ofSpec + "never true", ofSpec + "never false", ofSpec + "never true", ofItems + "never evaluated", ofItems + "never evaluated", ofItems + "never evaluated"}},
		{"unchecked conditions", "the server hasn't evaluated the rules", typedDefinition, trace.Resource{},
			trace.Admission{Kind: rule, Validation: &trace.Validation{Error: &trace.Error{Message: "spec.b: Invalid value, <nil>: Invalid value: some validation rules were not checked because"}}, Object: json.RawMessage(`{"spec":{"b":1}}`)}, []string{
				ofSpec + "never evaluated", ofSpec + "never evaluated", ofSpec + "never evaluated", ofItems + "never evaluated", ofItems + "never evaluated", ofItems + "never evaluated"}},
		{"binding", "a binding that applies has no other outcome", bindingAlone, pods, trace.Admission{Steps: []*trace.Step{{Policies: []*trace.Policy{{
			Reference: trace.Reference{Kind: trace.ValidatingPolicy, Name: "other"}, Bindings: []*trace.Binding{{Name: "bound", Evaluations: []*trace.Evaluation{{}}}}}}}}},
			[]string{"spec: never applied"}}, // the policy isn't installed from a file, so the record isn't about this binding
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "manifest.yaml")
			if err := os.WriteFile(path, []byte(test.manifest), 0o600); err != nil {
				t.Fatal(err)
			}
			installed, err := manifests.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			c := New()
			c.Add(installed, &trace.Request{Resource: test.resource, Admissions: []*trace.Admission{&test.pass}})
			var got []string
			for _, p := range c.Points() {
				for _, missing := range p.Missing() {
					got = append(got, p.Field+": "+missing)
				}
			}
			slices.Sort(got)
			slices.Sort(test.missing)
			if diff := cmp.Diff(test.missing, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// The same object of a file counts once, whichever test installs it, and an object without a file doesn't count.
func TestAddAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(configuration, "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	installed, err := manifests.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	c := New()
	c.Add(installed, nil)
	c.Add(installed, nil)
	c.Add([]manifests.Object{{Unstructured: installed[0].Unstructured}}, nil)
	if _, all := Ratio(c.Points()); all != 10 {
		t.Errorf("want the 10 outcomes of one configuration, got %d", all)
	}
	if got := Percent(0, 0); got != 100 {
		t.Errorf("want nothing to be reached whole, got %v", got)
	}
}
