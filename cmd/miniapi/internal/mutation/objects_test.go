package mutation

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
)

// Each field that decides about requests is changed, one at a time, with the line that it has in the file.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, manifest string
		want                   []string
	}{
		{"rules", "an element is left out, or replaced if it is the only one", `apiVersion: v1
kind: ValidatingAdmissionPolicy
metadata: {name: a}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - operations: [CREATE]
      apiGroups: ["", apps]
      apiVersions: [v1]
      resources: [pods,
        services]
    excludeResourceRules:
    - operations: ["*"]
`, []string{
			"8 operations: CREATE -> UPDATE", "11 resources: pods -> (removed)", "12 resources: services -> (removed)",
			`9 apiGroups: "" -> (removed)`, "9 apiGroups: apps -> (removed)", "14 excludeResourceRules[0] -> (removed)", "5 failurePolicy: Fail -> Ignore"}},
		{"several rules", "each rule is left out", `apiVersion: v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: a}
spec:
  matchResources:
    resourceRules:
    - {resources: [pods]}
    - {operations: [UPDATE]}
`, []string{"7 resources: pods -> otherpods", "7 resourceRules[0] -> (removed)", "8 operations: UPDATE -> CREATE", "8 resourceRules[1] -> (removed)"}},
		{"selectors", "the selector is left out, and each label changed", `apiVersion: v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: a}
spec:
  validationActions: [Deny, Audit]
  paramRef: {name: b, parameterNotFoundAction: Allow}
  matchResources:
    namespaceSelector:
      matchLabels: {a: b}
      matchExpressions:
      - {key: c, operator: Exists}
    objectSelector: {}
`, []string{
			"9 namespaceSelector -> {}", "9 a: b -> b-other", "11 matchExpressions[0] -> (removed)",
			"5 validationActions: Deny -> (removed)", "5 validationActions: Audit -> (removed)", "6 parameterNotFoundAction: Allow -> Deny"}},
		{"expressions", "an expression is changed to no effect, and its parts are changed at their lines", `apiVersion: v1
kind: MutatingAdmissionPolicy
metadata: {name: a}
spec:
  matchConditions: [{name: a, expression: object.a}]
  variables: [{name: b, expression: object.b > 1}]
  mutations:
  - applyConfiguration:
      expression: |
        Object{
          spec: Object.spec{c: true}
        }
  - jsonPatch: {expression: "[]"}
`, []string{
			"5 matchConditions[0] -> true", "6 object.b > 1 -> object.b >= 1", "6 object.b > 1 -> object.b <= 1", "6 1 -> 2", "6 1 -> 0",
			"9 applyConfiguration -> Object{}", "11 true -> false"}},
		{"webhooks", "one of several is left out", `apiVersion: v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks:
- {name: a, failurePolicy: Ignore, matchConditions: [{name: a, expression: "object.a"}]}
- {name: b}
`, []string{"5 matchConditions[0] -> true", "5 failurePolicy: Ignore -> Fail", "5 webhooks[0] -> (removed)", "6 webhooks[1] -> (removed)"}},
		{"definition", "rules at any depth of the schema", `apiVersion: v1
kind: CustomResourceDefinition
metadata: {name: a}
spec:
  versions:
  - schema:
      openAPIV3Schema:
        properties:
          spec:
            x-kubernetes-validations:
            - rule: self.a == 1
`, []string{"11 x-kubernetes-validations[0] -> true", "11 self.a == 1 -> self.a != 1", "11 1 -> 2", "11 1 -> 0"}},
		{"other kind", "the object decides about nothing", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", nil},
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
			before := installed[0].DeepCopy()
			var got []string
			for _, m := range Of(&source.Files{}, installed[0]) {
				got = append(got, fmt.Sprintf("%d %s -> %s", m.Line, m.Before, m.After))
				if cmp.Equal(m.mutant.Object, before.Object) {
					t.Errorf("want %s changed, and the object is the same", m.Field)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(before.Object, installed[0].Object); diff != "" {
				t.Errorf("the installed object has changed (-want +got):\n%s", diff)
			}
		})
	}
}

// A long text shows its change and what is around it.
func TestString(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, before, after, want string }{
		{"short", "the whole text", "a  &&\n b", "a || b", "a && b  ->  a || b"},
		{"long", "twenty characters on both sides", "object.spec.containers.all(c, c.image.startsWith('registry.example.com/')) && has(object.spec.volumes)",
			"object.spec.containers.exists(c, c.image.startsWith('registry.example.com/')) && has(object.spec.volumes)",
			"…ect.spec.containers.all(c, c.image.startsWi…  ->  …ect.spec.containers.exists(c, c.image.startsWi…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := (&Mutation{Before: test.before, After: test.after}).String(); got != test.want {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}
