package admission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// listOf returns the YAML of a list of a kind. Each item is the YAML of an object, and begins with a line break.
func listOf(kind string, items ...string) string {
	list := "apiVersion: admissionregistration.k8s.io/v1\nkind: " + kind + "List\nitems:\n"
	for _, item := range items {
		list += "-" + strings.ReplaceAll(strings.TrimRight(item, "\n"), "\n", "\n  ") + "\n"
	}
	return list
}

func TestManifests(t *testing.T) {
	t.Parallel()
	const (
		webhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks.static.k8s.io}
webhooks:
- name: a.example.com
  clientConfig: {url: "https://localhost:9443/a"}
  admissionReviewVersions: [v1]
  sideEffects: None
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
`
		policy = `
apiVersion: v1
kind: List
items:
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: {name: policy.static.k8s.io}
  spec:
    matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}
    validations: [{expression: "true"}]
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicyBinding
  metadata: {name: binding.static.k8s.io}
  spec: {policyName: policy.static.k8s.io, validationActions: [Deny]}
`
		mutatingPolicy = `
metadata: {name: policy.static.k8s.io}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]}
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/x"}]'}}]
`
		mutatingBinding = `
metadata: {name: binding.static.k8s.io}
spec: {policyName: policy.static.k8s.io}
`
	)
	loaders, err := manifestLoaders()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, reason, content, err string
		load                       func(t *testing.T, dir string) error
	}{{
		name: "webhook", reason: "the API's defaults apply", content: webhook,
		load: func(t *testing.T, dir string) error {
			configurations, _, err := loaders.LoadValidatingWebhookManifests(dir)
			if err == nil && (len(configurations) != 1 || *configurations[0].Webhooks[0].FailurePolicy != admissionregistrationv1.Fail || *configurations[0].Webhooks[0].TimeoutSeconds != 10) {
				t.Errorf("got %v", configurations)
			}
			return err
		},
	}, {
		name: "invalid webhook", reason: "validation by the API refuses the webhook too",
		content: strings.Replace(webhook, "None", "Some", 1),
		err:     `invalid ValidatingWebhookConfiguration "hooks.static.k8s.io": webhooks[0].sideEffects`,
		load: func(_ *testing.T, dir string) error {
			_, _, err := loaders.LoadValidatingWebhookManifests(dir)
			return err
		},
	}, {
		name: "unknown field", reason: "a misspelled field must not be lost",
		content: strings.Replace(webhook, "sideEffects", "sideeffects", 1),
		err:     `unknown field "webhooks[0].sideeffects"`,
		load: func(_ *testing.T, dir string) error {
			_, _, err := loaders.LoadValidatingWebhookManifests(dir)
			return err
		},
	}, {
		name: "wrong kind", reason: "each plugin reads only manifests of its own kinds", content: webhook,
		err: "MutatingWebhookConfiguration",
		load: func(_ *testing.T, dir string) error {
			_, _, err := loaders.LoadMutatingWebhookManifests(dir)
			return err
		},
	}, {
		name: "policy and binding", reason: "a list is as good as several documents", content: policy,
		load: func(t *testing.T, dir string) error {
			policies, bindings, _, err := loaders.LoadValidatingPolicyManifests(dir)
			if err == nil && (len(policies) != 1 || len(bindings) != 1 || policies[0].Spec.MatchConstraints.NamespaceSelector == nil) {
				t.Errorf("got %v and %v", policies, bindings)
			}
			return err
		},
	}, {
		name: "list of webhooks", reason: "a kind's own list is as good as several documents",
		content: listOf("MutatingWebhookConfiguration", strings.ReplaceAll(webhook, "Validating", "Mutating"),
			strings.NewReplacer("Validating", "Mutating", "hooks.", "others.").Replace(webhook)),
		load: func(t *testing.T, dir string) error {
			configurations, _, err := loaders.LoadMutatingWebhookManifests(dir)
			if err == nil && (len(configurations) != 2 || configurations[0].Name == configurations[1].Name || *configurations[1].Webhooks[0].TimeoutSeconds != 10) {
				t.Errorf("got %v", configurations)
			}
			return err
		},
	}, {
		name: "lists of policies and bindings", reason: "both kinds may come in one file",
		content: listOf("MutatingAdmissionPolicy", mutatingPolicy) + "---\n" + listOf("MutatingAdmissionPolicyBinding", mutatingBinding),
		load: func(t *testing.T, dir string) error {
			policies, bindings, _, err := loaders.LoadMutatingPolicyManifests(dir)
			if err == nil && (len(policies) != 1 || len(bindings) != 1 || policies[0].Spec.MatchConstraints.NamespaceSelector == nil) {
				t.Errorf("got %v and %v", policies, bindings)
			}
			return err
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "manifest.yaml"), []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := test.load(t, dir)
			if test.err == "" && err != nil {
				t.Errorf("%s: %v", test.reason, err)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("%s: error %v, want one with %q", test.reason, err, test.err)
			}
		})
	}
}
