package registry

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// reviewAccess answers a SubjectAccessReview: whether somebody may do something.
func reviewAccess(deps Dependencies) AnswerFunc {
	return func(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
		review := obj.(*authorizationv1.SubjectAccessReview)
		if err := invalidReview("SubjectAccessReview", validation.SubjectAccessReview(review)); err != nil {
			return nil, err
		}
		review.Status = judge(ctx, deps.Authorizer, attributesOf(review.Spec))
		return review, nil
	}
}

// reviewLocalAccess is reviewAccess within the namespace of the request.
func reviewLocalAccess(deps Dependencies) AnswerFunc {
	return func(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
		review := obj.(*authorizationv1.LocalSubjectAccessReview)
		if err := invalidReview("LocalSubjectAccessReview", validation.LocalSubjectAccessReview(review)); err != nil {
			return nil, err
		}
		namespace := genericapirequest.NamespaceValue(ctx)
		if namespace == "" {
			return nil, apierrors.NewBadRequest("namespace is required on this type: " + namespace)
		}
		if namespace != review.Namespace {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace must match namespace: %v", namespace))
		}
		review.Status = judge(ctx, deps.Authorizer, attributesOf(review.Spec))
		return review, nil
	}
}

// reviewSelfAccess answers whether the caller may do something.
func reviewSelfAccess(deps Dependencies) AnswerFunc {
	return func(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
		review := obj.(*authorizationv1.SelfSubjectAccessReview)
		if err := invalidReview("SelfSubjectAccessReview", validation.SelfSubjectAccessReview(review)); err != nil {
			return nil, err
		}
		caller, ok := genericapirequest.UserFrom(ctx)
		if !ok {
			return nil, apierrors.NewBadRequest("no user present on request")
		}
		attributes := attributesOf(authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: review.Spec.ResourceAttributes, NonResourceAttributes: review.Spec.NonResourceAttributes,
		})
		attributes.User = caller
		review.Status = judge(ctx, deps.Authorizer, attributes)
		return review, nil
	}
}

// reviewSelfRules lists what the caller may do in a namespace.
func reviewSelfRules(deps Dependencies) AnswerFunc {
	return func(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
		review := obj.(*authorizationv1.SelfSubjectRulesReview)
		caller, ok := genericapirequest.UserFrom(ctx)
		if !ok {
			return nil, apierrors.NewBadRequest("no user present on request")
		}
		if review.Spec.Namespace == "" {
			return nil, apierrors.NewBadRequest("no namespace on request")
		}
		resources, nonResources, incomplete, err := deps.RuleResolver.RulesFor(ctx, caller, review.Spec.Namespace)
		status := authorizationv1.SubjectRulesReviewStatus{
			ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: incomplete,
		}
		for _, rule := range resources {
			status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources(), ResourceNames: rule.GetResourceNames(),
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

func invalidReview(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName, Kind: kind}, "", errs)
}

func judge(ctx context.Context, a authorizer.Authorizer, attributes authorizer.AttributesRecord) authorizationv1.SubjectAccessReviewStatus {
	decision, reason, err := a.Authorize(ctx, attributes)
	status := authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow, Denied: decision == authorizer.DecisionDeny, Reason: reason,
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status
}

func attributesOf(spec authorizationv1.SubjectAccessReviewSpec) authorizer.AttributesRecord {
	subject := &user.DefaultInfo{Name: spec.User, Groups: spec.Groups, UID: spec.UID, Extra: map[string][]string{}}
	for key, values := range spec.Extra {
		subject.Extra[strings.ToLower(key)] = values
	}
	if r := spec.NonResourceAttributes; r != nil {
		return authorizer.AttributesRecord{User: subject, Verb: r.Verb, Path: r.Path}
	}
	record := authorizer.AttributesRecord{User: subject, ResourceRequest: true}
	r := spec.ResourceAttributes
	if r == nil {
		return record
	}
	record.Verb, record.Namespace, record.APIGroup = r.Verb, r.Namespace, r.Group
	record.APIVersion, record.Resource, record.Subresource, record.Name = matchAll(r.Version), r.Resource, r.Subresource, r.Name
	if r.FieldSelector != nil {
		record.FieldSelectorRequirements, record.FieldSelectorParsingErr = fieldRequirements(r.FieldSelector)
	}
	if r.LabelSelector != nil {
		record.LabelSelectorRequirements, record.LabelSelectorParsingErr = labelRequirements(r.LabelSelector)
	}
	return record
}

// matchAll is the version that a review without one asks about.
func matchAll(version string) string {
	if version == "" {
		return "*"
	}
	return version
}

// fieldRequirements are the parts of a field selector that can be given to an
// authorizer; the others are reported and left out, which can only widen the question.
func fieldRequirements(s *authorizationv1.FieldSelectorAttributes) (fields.Requirements, error) {
	if s.RawSelector != "" {
		parsed, err := fields.ParseSelector(s.RawSelector)
		if err != nil {
			return nil, err
		}
		return parsed.Requirements(), nil
	}
	var requirements fields.Requirements
	var errs []error
	for _, r := range s.Requirements {
		operator := map[metav1.FieldSelectorOperator]selection.Operator{metav1.FieldSelectorOpIn: selection.Equals, metav1.FieldSelectorOpNotIn: selection.NotEquals}[r.Operator]
		if operator == "" || len(r.Values) != 1 {
			errs = append(errs, fmt.Errorf("fieldSelector requirement on %q: only In and NotIn with one value can be judged, not %s with %d", r.Key, r.Operator, len(r.Values)))
			continue
		}
		requirements = append(requirements, fields.Requirement{Field: r.Key, Operator: operator, Value: r.Values[0]})
	}
	return requirements, utilerrors.NewAggregate(errs)
}

func labelRequirements(s *authorizationv1.LabelSelectorAttributes) (labels.Requirements, error) {
	if s.RawSelector != "" {
		parsed, err := labels.Parse(s.RawSelector)
		if err != nil {
			return nil, err
		}
		requirements, _ := parsed.Requirements()
		return requirements, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: s.Requirements})
	if err != nil {
		return nil, err
	}
	requirements, _ := selector.Requirements()
	return requirements, nil
}
