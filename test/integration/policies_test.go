package integration_test

import (
	"context"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// onConfigMaps matches everything that is done to ConfigMaps.
func onConfigMaps() *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule("*", "v1", "configmaps")}}}
}

// enforce has a policy, by default one for ConfigMaps, judge requests until the test ends, by
// a binding of the same name.
func enforce(t testing.TB, srv *miniapitest.Server, policy *admissionregistrationv1.ValidatingAdmissionPolicy, actions ...admissionregistrationv1.ValidationAction) {
	t.Helper()
	if policy.Spec.MatchConstraints == nil {
		policy.Spec.MatchConstraints = onConfigMaps()
	}
	client := srv.Client().AdmissionregistrationV1()
	must(client.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}))(t)
	must(client.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: actions},
	}, metav1.CreateOptions{}))(t)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		ok(t, client.ValidatingAdmissionPolicyBindings().Delete(ctx, policy.Name, metav1.DeleteOptions{}))
		ok(t, client.ValidatingAdmissionPolicies().Delete(ctx, policy.Name, metav1.DeleteOptions{}))
	})
}
