package authorization

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// selfSubjectRulesReviewKind is the row of selfsubjectrulesreviews in the server's table of kinds.
var selfSubjectRulesReviewKind = registry.Kind{
	Resource: "selfsubjectrulesreviews",
	Object:   &authorizationv1.SelfSubjectRulesReview{},
	Answer:   reviewSelfRules,
}

// Rules is the part of the server that lists the permissions of a user.
type Rules struct{ authorizer.RuleResolver }

// reviewSelfRules answers a SelfSubjectRulesReview. The answer lists the permissions of the caller in a namespace.
func reviewSelfRules(deps registry.Dependencies) registry.AnswerFunc {
	rules := registry.PartOf[Rules](deps)
	return func(ctx context.Context, obj runtime.Object, admit func() error) (runtime.Object, error) {
		review := obj.(*authorizationv1.SelfSubjectRulesReview)
		caller, ok := genericapirequest.UserFrom(ctx)
		if !ok {
			return nil, apierrors.NewBadRequest("no user present on request")
		}
		if review.Spec.Namespace == "" {
			return nil, apierrors.NewBadRequest("no namespace on request")
		}
		if err := admit(); err != nil {
			return nil, err
		}
		resources, nonResources, incomplete, err := rules.RulesFor(ctx, caller, review.Spec.Namespace)
		status := authorizationv1.SubjectRulesReviewStatus{
			ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: incomplete,
		}
		for _, rule := range resources {
			status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources(),
				ResourceNames: rule.GetResourceNames(),
			})
		}
		for _, rule := range nonResources {
			status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{
				Verbs: rule.GetVerbs(), NonResourceURLs: rule.GetNonResourceURLs(),
			})
		}
		if err != nil {
			status.EvaluationError = err.Error()
		}
		return &authorizationv1.SelfSubjectRulesReview{Status: status}, nil
	}
}
