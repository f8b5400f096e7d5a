package integration_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// matchResources returns the match constraints of a policy for operations on resources.
func matchResources(operations, groupVersion string, resources ...string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule(operations, groupVersion, resources...)}},
	}
}

// validations returns the spec of a policy with some validations. The spec has no match constraints: the function
// enforce adds constraints that match ConfigMaps.
func validations(validations ...admissionregistrationv1.Validation) admissionregistrationv1.ValidatingAdmissionPolicySpec {
	return admissionregistrationv1.ValidatingAdmissionPolicySpec{Validations: validations}
}

// enforce creates a policy and its bindings, and deletes them at the end of the test. The names of the bindings begin
// with the name of the policy. By default, the policy applies to ConfigMaps.
func enforce(t testing.TB, srv *miniapitest.Server, policy *admissionregistrationv1.ValidatingAdmissionPolicy, bindings ...admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec) {
	t.Helper()
	if policy.Spec.MatchConstraints == nil {
		policy.Spec.MatchConstraints = matchResources("*", "v1", "configmaps")
	}
	client := srv.Client().AdmissionregistrationV1()
	ctx := context.WithoutCancel(t.Context())
	must(client.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}))(t)
	t.Cleanup(func() {
		ok(t, client.ValidatingAdmissionPolicies().Delete(ctx, policy.Name, metav1.DeleteOptions{}))
	})
	for i, binding := range bindings {
		name := policy.Name
		if i > 0 {
			name += "-" + string(rune('a'+i))
		}
		binding.PolicyName = policy.Name
		must(client.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: binding,
		}, metav1.CreateOptions{}))(t)
		t.Cleanup(func() {
			ok(t, client.ValidatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{}))
		})
	}
}

// binding returns the spec of a binding without parameters.
func binding(actions ...admissionregistrationv1.ValidationAction) admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec {
	return admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{ValidationActions: actions}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// createConfigMap creates a ConfigMap with data in the namespace "default".
func createConfigMap(ctx context.Context, client kubernetes.Interface, name string, data map[string]string) error {
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name), Data: data}, metav1.CreateOptions{})
	return err
}

// statusOf returns the code, the reason and the message of an error.
func statusOf(err error) refused {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return refused{}
	}
	s := status.Status()
	return refused{s.Code, s.Reason, s.Message}
}

type refused struct {
	Code    int32
	Reason  metav1.StatusReason
	Message string
}

// auditedFailure is a failed validation in an audit event.
type auditedFailure struct {
	Binding           string
	Message           string
	ValidationActions []string
}

// A policy without a binding has no effect. A binding decides to which requests the policy applies, and whether a
// failed validation refuses the request, is a warning, or is an audit annotation. The cases policy.action.* and
// policy.bindings of the conformance suite have one action each. This test has combinations of actions, and the audit
// log.
func TestPolicyBindings(t *testing.T) {
	t.Parallel()
	srv, log := audited(t)
	client, seen := warned(t, srv)
	const namespace = "metadata" // the audit level of this namespace is its name
	const (
		deny  = admissionregistrationv1.Deny
		warn  = admissionregistrationv1.Warn
		audit = admissionregistrationv1.Audit
	)
	selecting := func(actions []admissionregistrationv1.ValidationAction, label string) admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec {
		return admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			ValidationActions: actions,
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: label},
			}},
		}
	}
	tests := []struct {
		name, reason string
		bindings     []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec
		refusedBy    string // the name of the binding that refuses the request
		warnedBy     []string
		audited      []auditedFailure
	}{{
		name: "unbound", reason: "no binding, no effect",
	}, {
		name: "deny", reason: "Deny refuses", refusedBy: "deny",
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(deny)},
	}, {
		name: "warn", reason: "Warn tells the client", warnedBy: []string{"warn"},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(warn)},
	}, {
		name: "audit", reason: "Audit tells the operator alone", audited: []auditedFailure{{"audit", "no", []string{"Audit"}}},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(audit)},
	}, {
		name: "warn-and-audit", reason: "both", warnedBy: []string{"warn-and-audit"},
		audited:  []auditedFailure{{"warn-and-audit", "no", []string{"Warn", "Audit"}}},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(warn, audit)},
	}, {
		name: "deny-and-audit", reason: "a refused request has audit annotations too", refusedBy: "deny-and-audit",
		audited:  []auditedFailure{{"deny-and-audit", "no", []string{"Deny", "Audit"}}},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(deny, audit)},
	}, {
		name: "several", reason: "each binding has its own validation actions", refusedBy: "several-b", warnedBy: []string{"several"},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(warn), binding(deny)},
	}, {
		name: "elsewhere", reason: "a binding can limit the requests that the policy applies to",
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			selecting([]admissionregistrationv1.ValidationAction{deny}, "kube-system"),
		},
	}, {
		name: "here", reason: "by the labels of namespaces", refusedBy: "here",
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			selecting([]admissionregistrationv1.ValidationAction{deny}, namespace),
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{
				ObjectMeta: named(test.name), Spec: validations(admissionregistrationv1.Validation{Expression: "false", Message: "no"}),
			}, test.bindings...)
			seen.take()
			_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named(test.name)}, metav1.CreateOptions{})
			var want string
			if test.refusedBy != "" {
				want = `configmaps "` + test.name + `" is forbidden: ValidatingAdmissionPolicy '` + test.name + `' with binding '` + test.refusedBy + `' denied request: no`
			}
			if diff := cmp.Diff(want, statusOf(err).Message); diff != "" {
				t.Errorf("%s: refusal (-want +got):\n%s", test.reason, diff)
			}
			var wantWarnings []string
			for _, by := range test.warnedBy {
				wantWarnings = append(wantWarnings, "299 - Validation failed for ValidatingAdmissionPolicy '"+test.name+"' with binding '"+by+"': no")
			}
			if diff := cmp.Diff(wantWarnings, seen.take()); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", test.reason, diff)
			}
			var gotAudited []auditedFailure
			if annotation, found := log.event(t, namespace, test.name).Annotations["validation.policy.admission.k8s.io/validation_failure"]; found {
				gotAudited = *decode[[]auditedFailure](t, []byte(annotation))
			}
			if diff := cmp.Diff(test.audited, gotAudited); diff != "" {
				t.Errorf("%s: failures in the audit log (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
