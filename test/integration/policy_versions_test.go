package integration_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// A policy and its binding apply in whichever versions they are written. All versions show the same policy.
func TestPoliciesOfAnyVersion(t *testing.T) {
	t.Parallel()
	versions := []string{configurationAPI, "admissionregistration.k8s.io/v1beta1", "admissionregistration.k8s.io/v1alpha1"}
	srv := miniapitest.Start(t, miniapitest.WithAPIs(versions[1:]...))
	match := map[string]any{"resourceRules": []any{map[string]any{
		"operations": []any{"CREATE"}, "apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"},
	}}}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			for _, o := range []struct {
				kind, reason string
				spec         map[string]any
			}{
				{"MutatingAdmissionPolicy", "the mutating policy makes the change that the validating policy refuses", map[string]any{"matchConstraints": match, "reinvocationPolicy": "Never", "mutations": []any{map[string]any{
					"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{"expression": `Object{data: {"size": "9"}}`},
				}}}},
				{"MutatingAdmissionPolicyBinding", "no policy is in force without a binding", map[string]any{"policyName": "policy"}},
				{"ValidatingAdmissionPolicy", "the message shows that the policy applies", map[string]any{"matchConstraints": match, "validations": []any{map[string]any{
					"expression": `object.data.size != "9"`, "message": "too large for " + version,
				}}}},
				{"ValidatingAdmissionPolicyBinding", "the binding has the action Deny",
					map[string]any{"policyName": "policy", "validationActions": []any{"Deny"}}},
			} {
				written := clusterResources(srv, version, resourceOf(o.kind))
				must(written.Create(t.Context(), object(version, o.kind, "policy", map[string]any{"spec": o.spec}), metav1.CreateOptions{}))(t)
				defer func() { ok(t, written.Delete(t.Context(), "policy", metav1.DeleteOptions{})) }()
				for _, other := range versions {
					read := must(clusterResources(srv, other, resourceOf(o.kind)).Get(t.Context(), "policy", metav1.GetOptions{}))(t)
					if policy := fieldOf(read, "spec", "failurePolicy"); strings.HasSuffix(o.kind, "Policy") && policy != "Fail" {
						t.Errorf("%s read as %s: %s: want the default failurePolicy, got %v", o.kind, other, o.reason, policy)
					}
				}
			}
			if err := createThing(t, srv); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "too large for "+version) {
				t.Errorf("want one policy to refuse what the other has changed, got %v", err)
			}
		})
	}
	ok(t, createThing(t, srv))
}
