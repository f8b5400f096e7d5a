package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// everything makes a hook select every request.
var everything = on("*", "*/*", "*/*")

// configurationAPI is the API of webhooks and policies.
const configurationAPI = "admissionregistration.k8s.io/v1"

// matching returns the matchConstraints of a policy for all resources of API groups.
func matching(groups ...any) map[string]any {
	return map[string]any{"resourceRules": []any{map[string]any{
		"operations": []any{"*"}, "apiGroups": groups, "apiVersions": []any{"*"}, "resources": []any{"*/*"},
	}}}
}

// policySpec returns the spec of a policy that refuses every request that it matches.
func policySpec(mutates bool, match map[string]any) map[string]any {
	spec := map[string]any{"matchConstraints": match}
	if mutates {
		spec["reinvocationPolicy"] = "Never"
		spec["mutations"] = []any{map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{
			// This patch can't be applied, so the request fails.
			"expression": `[JSONPatch{op: "remove", path: "/nothing"}]`,
		}}}
	} else {
		spec["validations"] = []any{map[string]any{"expression": "false"}}
	}
	return map[string]any{"spec": spec}
}

func bindingSpec(policy string, mutates bool) map[string]any {
	spec := map[string]any{"policyName": policy}
	if !mutates {
		spec["validationActions"] = []any{"Deny"}
	}
	return map[string]any{"spec": spec}
}

// refuseByPolicy creates a mutating or validating policy that refuses every request that it matches.
func refuseByPolicy(t *testing.T, srv *miniapitest.Server, mutates bool, match map[string]any) {
	t.Helper()
	kind := "ValidatingAdmissionPolicy"
	if mutates {
		kind = "MutatingAdmissionPolicy"
	}
	for _, o := range []*unstructured.Unstructured{
		object(configurationAPI, kind, "deny", policySpec(mutates, match)),
		object(configurationAPI, kind+"Binding", "deny", bindingSpec("deny", mutates)),
	} {
		must(clusterResources(srv, configurationAPI, resourceOf(o.GetKind())).Create(t.Context(), o, metav1.CreateOptions{}))(t)
	}
}

// Policies don't apply to reviews such as TokenReview and SubjectAccessReview, because these reviews are never
// stored and a cluster needs their answers. Since Kubernetes 1.37, the server hides the reviews from webhooks, too, unless
// the feature gate ExcludeAdmissionWebhookVirtualResources is off.
func TestExemptReviews(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		called []string
		option miniapitest.Option
	}{
		{"by default", nil, nil},
		{"without the feature gate", []string{"m", "v"},
			miniapitest.WithFeatureGates(map[string]bool{"ExcludeAdmissionWebhookVirtualResources": false})},
		{"in Kubernetes 1.36", []string{"m", "v"}, miniapitest.WithEmulatedVersion("1.36")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var options []miniapitest.Option
			if test.option != nil {
				options = append(options, test.option)
			}
			exemptReviews(t, miniapitest.Start(t, options...), test.called)
		})
	}
}

// exemptReviews creates objects of each kind of review, such as TokenReview. The argument want has the names of
// the webhooks that the server calls for each object: "m" is mutating, and "v" is validating.
func exemptReviews(t *testing.T, srv *miniapitest.Server, want []string) {
	t.Helper()
	refuseByPolicy(t, srv, false, matching("authentication.k8s.io", "authorization.k8s.io", ""))
	refuseByPolicy(t, srv, true, matching("authentication.k8s.io", "authorization.k8s.io", "apps"))
	recorder := install(t, srv, mutating("m", allow(), everything), validating("v", allow(), everything))
	attributes := &authorizationv1.ResourceAttributes{Namespace: metav1.NamespaceDefault, Verb: "get", Resource: "pods"}
	spec := authorizationv1.SubjectAccessReviewSpec{User: "somebody", ResourceAttributes: attributes}
	for _, review := range []struct {
		name, reason string
		ask          func(kubernetes.Interface) error
	}{
		{"TokenReview", "other servers need the user of a token", func(c kubernetes.Interface) error {
			_, err := c.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "token"}}, metav1.CreateOptions{})
			return err
		}},
		{"SelfSubjectReview", "a user asks for the own identity", func(c kubernetes.Interface) error {
			_, err := c.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
			return err
		}},
		{"SubjectAccessReview", "other servers need the permissions of a user", func(c kubernetes.Interface) error {
			_, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
			return err
		}},
		{"LocalSubjectAccessReview", "other servers need the permissions of a user in one namespace", func(c kubernetes.Interface) error {
			_, err := c.AuthorizationV1().LocalSubjectAccessReviews(metav1.NamespaceDefault).Create(t.Context(), &authorizationv1.LocalSubjectAccessReview{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault}, Spec: spec,
			}, metav1.CreateOptions{})
			return err
		}},
		{"SelfSubjectAccessReview", "users need to know their own permissions", func(c kubernetes.Interface) error {
			_, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
			}, metav1.CreateOptions{})
			return err
		}},
		{"SelfSubjectRulesReview", "users need to know all their permissions", func(c kubernetes.Interface) error {
			_, err := c.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
				Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: metav1.NamespaceDefault},
			}, metav1.CreateOptions{})
			return err
		}},
	} {
		recorder.Reset()
		if err := review.ask(srv.Client()); err != nil {
			t.Errorf("%s: %s: %v", review.name, review.reason, err)
		}
		if diff := cmp.Diff(want, called(recorder)); diff != "" {
			t.Errorf("%s: %s: calls (-want +got):\n%s", review.name, review.reason, diff)
		}
	}
	if err := createThing(t, srv); !strings.Contains(fmt.Sprint(err), "ValidatingAdmissionPolicy 'deny'") {
		t.Errorf("a ConfigMap isn't refused by the validating policy, so that nothing is proven: %v", err)
	}
	if _, err := srv.Client().AppsV1().Deployments("default").Create(t.Context(), appsDeployment("web"), metav1.CreateOptions{DryRun: dry}); !strings.Contains(fmt.Sprint(err), "policy 'deny'") {
		t.Errorf("a Deployment isn't refused by the mutating policy, so that nothing is proven: %v", err)
	}
}
