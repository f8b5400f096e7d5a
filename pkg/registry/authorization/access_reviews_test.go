package authorization

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// recorder returns an authorizer that allows everything, and stores the attributes of the last request in last.
func recorder(last *authorizer.Attributes) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		*last = a
		return authorizer.DecisionAllow, "", nil
	})
}

func admitted() error { return nil }

func TestSelectors(t *testing.T) {
	t.Parallel()
	valid := metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web"}}
	unknown := metav1.LabelSelectorRequirement{Key: "tier", Operator: "Near"}
	for _, tc := range []struct {
		name, reason string
		attributes   authorizationv1.ResourceAttributes
		labels       int
		want         string
	}{
		{
			name:   "label requirements",
			reason: "an unknown operator of a newer client doesn't drop the requirements that the server knows",
			attributes: authorizationv1.ResourceAttributes{LabelSelector: &authorizationv1.LabelSelectorAttributes{
				Requirements: []metav1.LabelSelectorRequirement{unknown, valid}}},
			labels: 1,
			want:   "spec.resourceAttributes.labelSelector partially ignored due to parse error",
		},
		{
			name: "raw selectors", reason: "the answer names each selector that counts for nothing",
			attributes: authorizationv1.ResourceAttributes{
				FieldSelector: &authorizationv1.FieldSelectorAttributes{RawSelector: "a"},
				LabelSelector: &authorizationv1.LabelSelectorAttributes{RawSelector: "a in"},
			},
			want: "spec.resourceAttributes.fieldSelector ignored due to parse error; spec.resourceAttributes.labelSelector ignored due to parse error",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var last authorizer.Attributes
			review, err := reviewAccess(registry.Dependencies{Authorizer: recorder(&last)})(t.Context(), &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: "jane", ResourceAttributes: &tc.attributes}}, admitted)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(authorizationv1.SubjectAccessReviewStatus{Allowed: true, EvaluationError: tc.want}, review.(*authorizationv1.SubjectAccessReview).Status); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got, _ := last.GetLabelSelector(); len(got) != tc.labels {
				t.Errorf("the authorizer got %d label requirements, want %d: %s", len(got), tc.labels, tc.reason)
			}
		})
	}
}

func TestExtraKeys(t *testing.T) {
	t.Parallel()
	var last authorizer.Attributes
	_, err := reviewAccess(registry.Dependencies{Authorizer: recorder(&last)})(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "jane", Extra: map[string]authorizationv1.ExtraValue{"Scope": {"x"}},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/"}}}, admitted)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"Scope": {"x"}}, last.GetUser().GetExtra()); diff != "" {
		t.Errorf("the authorizer gets the keys as the client wrote them (-want +got):\n%s", diff)
	}
}

func TestInvalidReview(t *testing.T) {
	t.Parallel()
	refused := func() error { return errors.New("refused by a webhook") }
	_, err := reviewAccess(registry.Dependencies{})(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "jane"}}, refused)
	const want = `.authorization.k8s.io "" is invalid: spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified`
	if !apierrors.IsInvalid(err) || err.Error() != want {
		t.Errorf("the error is %v, want %s: webhooks get no invalid review", err, want)
	}
}

func TestRefusedReview(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused by a webhook")
	_, err := reviewAccess(registry.Dependencies{})(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "jane", NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/"}}}, func() error { return refused })
	if !errors.Is(err, refused) {
		t.Errorf("the error is %v, want %v: a valid review needs admission", err, refused)
	}
}
