package integration_test

import (
	"context"
	"errors"
	"net/http"
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

// validations returns the spec of a policy with some validations. By default, the policy applies to ConfigMaps.
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

// createConfigMap creates a ConfigMap with data.
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

// The CEL expressions of a policy can use the request, its objects, and further facts such as the namespace and the
// user's permissions.
func TestPolicyExpressions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	ignore := admissionregistrationv1.Ignore
	denied := func(policy, message string) refused {
		return refused{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			`configmaps "` + policy + `" is forbidden: ValidatingAdmissionPolicy '` + policy + `' with binding '` + policy + `' denied request: ` + message}
	}
	tests := []struct {
		name, reason string
		spec         admissionregistrationv1.ValidatingAdmissionPolicySpec
		want         refused // the expected error; the zero value if the request succeeds
	}{{
		name: "true", reason: "an expression that is true allows the request",
		spec: validations(admissionregistrationv1.Validation{Expression: "object.data.size == '1'"}),
	}, {
		name: "false", reason: "without a message, the expression is named",
		spec: validations(admissionregistrationv1.Validation{Expression: "object.data.size == '2'"}),
		want: denied("false", "failed expression: object.data.size == '2'"),
	}, {
		name: "message", reason: "a message is what the client reads",
		spec: validations(admissionregistrationv1.Validation{Expression: "false", Message: "too small"}),
		want: denied("message", "too small"),
	}, {
		name: "message-expression", reason: "a messageExpression goes before the message",
		spec: validations(admissionregistrationv1.Validation{Expression: "false", Message: "too small", MessageExpression: "'size is ' + object.data.size"}),
		want: denied("message-expression", "size is 1"),
	}, {
		name: "message-expression-error", reason: "a message expression that fails is skipped",
		spec: validations(admissionregistrationv1.Validation{Expression: "false", Message: "too small", MessageExpression: "'colour is ' + object.data.colour"}),
		want: denied("message-expression-error", "too small"),
	}, {
		name: "reason", reason: "the reason says which code is answered",
		spec: validations(admissionregistrationv1.Validation{Expression: "false", Message: "no", Reason: new(metav1.StatusReasonForbidden)}),
		want: refused{http.StatusForbidden, metav1.StatusReasonForbidden, `configmaps "reason" is forbidden: ValidatingAdmissionPolicy 'reason' with binding 'reason' denied request: no`},
	}, {
		name: "first", reason: "the client gets the message of the first failed validation",
		spec: validations(
			admissionregistrationv1.Validation{Expression: "true", Message: "one"},
			admissionregistrationv1.Validation{Expression: "false", Message: "two"},
			admissionregistrationv1.Validation{Expression: "false", Message: "three"},
		),
		want: denied("first", "two"),
	}, {
		name: "error", reason: "an expression that can't be evaluated refuses the request, because failurePolicy is Fail by default",
		spec: validations(admissionregistrationv1.Validation{Expression: "object.data.colour == 'red'"}),
		want: denied("error", "expression 'object.data.colour == 'red'' resulted in error: no such key: colour"),
	}, {
		name: "error-ignored", reason: "failurePolicy Ignore allows the request if the expression can't be evaluated",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &ignore, Validations: []admissionregistrationv1.Validation{{Expression: "object.data.colour == 'red'"}},
		},
	}, {
		name: "variables", reason: "variables are evaluated once, and may use earlier variables",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			Variables: []admissionregistrationv1.Variable{
				{Name: "size", Expression: "int(object.data.size)"},
				{Name: "twice", Expression: "variables.size * 2"},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "variables.twice > 2", MessageExpression: "'twice is ' + string(variables.twice)"}},
		},
		want: denied("variables", "twice is 2"),
	}, {
		name: "request", reason: "expressions can use the request",
		spec: validations(admissionregistrationv1.Validation{
			Expression:        "request.operation != 'CREATE' || request.resource.resource != 'configmaps'",
			MessageExpression: "request.operation + ' ' + request.kind.kind + ' ' + request.namespace + '/' + request.name + ' by ' + request.userInfo.username",
		}),
		want: denied("request", "CREATE ConfigMap default/request by system:admin"),
	}, {
		name: "old-object", reason: "a new object has no old object",
		spec: validations(admissionregistrationv1.Validation{Expression: "oldObject != null", Message: "new"}),
		want: denied("old-object", "new"),
	}, {
		name: "namespace-object", reason: "expressions can use the namespace with its labels",
		spec: validations(admissionregistrationv1.Validation{
			Expression: "false", MessageExpression: "namespaceObject.metadata.labels['kubernetes.io/metadata.name']",
		}),
		want: denied("namespace-object", "default"),
	}, {
		name: "authorizer", reason: "an expression can check the permissions of the user",
		spec: validations(admissionregistrationv1.Validation{
			Expression: "!authorizer.group('').resource('secrets').namespace('default').check('get').allowed()", Message: "an admin",
		}),
		want: denied("authorizer", "an admin"),
	}, {
		name: "match-conditions", reason: "all match conditions must hold for the policy to judge",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "all", Expression: "true"}, {Name: "others", Expression: "object.metadata.name != 'match-conditions'"},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false"}},
		},
	}, {
		name: "match-condition-error", reason: "a match condition that fails refuses the request, as failurePolicy is Fail by default",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "c", Expression: "object.data.colour == 'red'"}},
			Validations:     []admissionregistrationv1.Validation{{Expression: "true"}},
		},
		want: denied("match-condition-error", "expression 'object.data.colour == 'red'' resulted in error: no such key: colour"),
	}, {
		name: "exclude", reason: "excludeResourceRules go before resourceRules",
		spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules:        []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule("*", "v1", "*")}},
				ExcludeResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{ResourceNames: []string{"exclude"}, RuleWithOperations: rule("*", "v1", "configmaps")}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false"}},
		},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(test.name), Spec: test.spec}, binding(admissionregistrationv1.Deny))
			err := createConfigMap(t.Context(), srv.Client(), test.name, map[string]string{"size": "1"})
			if diff := cmp.Diff(test.want, statusOf(err)); diff != "" {
				t.Errorf("%s: refusal (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// auditedFailure is a failed validation in an audit event.
type auditedFailure struct {
	Binding           string
	Message           string
	ValidationActions []string
}

// A policy without a binding has no effect. A binding decides to which requests the policy applies, and whether a
// failed validation refuses the request, is a warning, or is an audit annotation.
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
		name: "warn-and-audit", reason: "both", warnedBy: []string{"warn-and-audit"}, audited: []auditedFailure{{"warn-and-audit", "no", []string{"Warn", "Audit"}}},
		bindings: []admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{binding(warn, audit)},
	}, {
		name: "deny-and-audit", reason: "a refused request has audit annotations too", refusedBy: "deny-and-audit", audited: []auditedFailure{{"deny-and-audit", "no", []string{"Deny", "Audit"}}},
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

// Policies apply to requests of every operation, and use the same objects as webhooks.
func TestPolicyOperations(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("operations"), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: matchResources("*", "v1", "configmaps", "pods/attach"),
		Validations: []admissionregistrationv1.Validation{{
			Expression: "false",
			MessageExpression: "request.operation + (object == null ? ', no object' : ', ' + object.kind) + (oldObject == null ? ', no oldObject' : ', ' + oldObject.kind)" +
				" + (has(request.options) && request.options != null ? ', ' + request.options.kind : ', no options')",
		}},
	}}, binding(admissionregistrationv1.Warn))
	client, seen := warned(t, srv)
	sees := func(name, want string) {
		t.Helper()
		const prefix = "299 - Validation failed for ValidatingAdmissionPolicy 'operations' with binding 'operations': "
		if diff := cmp.Diff([]string{prefix + want}, seen.take()); diff != "" {
			t.Errorf("%s: what the policy sees (-want +got):\n%s", name, diff)
		}
	}
	for _, request := range requests {
		prepare(t, srv.Client(), !request.creates)
		seen.take()
		ok(t, request.do(t.Context(), client))
		want := "UPDATE, ConfigMap, ConfigMap, UpdateOptions"
		switch {
		case request.creates:
			want = "CREATE, ConfigMap, no oldObject, CreateOptions"
		case request.deletes:
			want = "DELETE, no object, ConfigMap, DeleteOptions"
		}
		sees(request.name, want)
	}
	err := client.CoreV1().RESTClient().Post().AbsPath("/api/v1/namespaces/default/pods/missing/attach").Do(t.Context()).Error()
	if !apierrors.IsNotFound(err) {
		t.Errorf("want the pod to be missing, got %v", err)
	}
	sees("attach", "CONNECT, PodAttachOptions, no oldObject, no options")
}

// Validating policies run after all changes of the object, and before the validating webhooks.
func TestPolicyOrder(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv, mutating("m", stamp("m")), validating("v", allow()))
	enforce(t, srv, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named("order"), Spec: validations(admissionregistrationv1.Validation{
		Expression: "object.data.made == 'last'", MessageExpression: "'stamped by m: ' + object.data.m",
	})}, binding(admissionregistrationv1.Deny))
	err := createConfigMap(t.Context(), srv.Client(), "m", map[string]string{"made": "first"})
	const want = `configmaps "m" is forbidden: ValidatingAdmissionPolicy 'order' with binding 'order' denied request: stamped by m: stamped`
	if diff := cmp.Diff(want, statusOf(err).Message); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"m"}, called(recorder)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
