package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// typeChecked waits until the status of a policy is about the generation, and has exactly the wanted warnings. The
// argument want maps each field to a part of its warning.
func typeChecked(t testing.TB, srv *miniapitest.Server, name string, generation int64, want map[string]string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		policy, err := srv.Client().AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if policy.Status.ObservedGeneration != generation {
			last = fmt.Sprintf("generation %d isn't checked: %+v", generation, policy.Status)
			return false, nil
		}
		got := map[string]string{}
		if checked := policy.Status.TypeChecking; checked != nil {
			for _, warning := range checked.ExpressionWarnings {
				got[warning.FieldRef] = warning.Warning
			}
		}
		for field, part := range want {
			if strings.Contains(got[field], part) {
				got[field] = part
			}
		}
		last = cmp.Diff(want, got)
		return last == "", nil
	})
	if err != nil {
		t.Errorf("%s: warnings (-want +got):\n%s", name, last)
	}
}

// The server checks the expressions of a policy by the types that the policy matches, and reports errors in the
// policy's status. The policy applies in any case, because the objects may be of other types.
func TestPolicyTypeChecking(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	define(t, srv, "widgets", "Widget", "v1")
	policies := srv.Client().AdmissionregistrationV1().ValidatingAdmissionPolicies()
	check := admissionregistrationv1.Validation{Expression: "object.spec.replicas > '1'", MessageExpression: "'replicas: ' + object.spec.replica"}
	tests := []struct {
		name, reason string
		match        *admissionregistrationv1.MatchResources
		params       *admissionregistrationv1.ParamKind
		validation   admissionregistrationv1.Validation
		want         map[string]string
	}{{
		name: "built-in", reason: "types of the API",
		match: matchResources("*", "apps/v1", "deployments"), validation: check,
		want: map[string]string{
			"spec.validations[0].expression":        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'",
			"spec.validations[0].messageExpression": "undefined field 'replica'",
		},
	}, {
		name: "several", reason: "each of the types is checked",
		match: matchResources("*", "apps/v1", "deployments", "statefulsets"), validation: check,
		want: map[string]string{
			"spec.validations[0].expression":        "apps/v1, Kind=StatefulSet: ERROR",
			"spec.validations[0].messageExpression": "undefined field 'replica'",
		},
	}, {
		name: "custom-resource", reason: "types that are defined in the API",
		match:      matchResources("*", "example.com/v1", "widgets"),
		validation: admissionregistrationv1.Validation{Expression: "object.size == 1"},
		want:       map[string]string{"spec.validations[0].expression": "undefined field 'size'"},
	}, {
		name: "params", reason: "the expressions for parameters are checked by their type",
		match:      matchResources("*", "apps/v1", "deployments"),
		params:     &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
		validation: admissionregistrationv1.Validation{Expression: "params.date == 'x'"},
		want:       map[string]string{"spec.validations[0].expression": "undefined field 'date'"},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(test.name), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: test.match, ParamKind: test.params, Validations: []admissionregistrationv1.Validation{test.validation},
			}})
			typeChecked(t, srv, test.name, 1, test.want)

			// After the expression is corrected, the status has no warnings.
			must(policies.Patch(t.Context(), test.name, types.MergePatchType, []byte(`{"spec":{"validations":[{"expression":"object.metadata.name != ''"}]}}`), metav1.PatchOptions{}))(t)
			typeChecked(t, srv, test.name, 2, map[string]string{})
		})
	}
}
