package authorization

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func accessReviewSpec(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	f := validation.Findings{Errs: accessAttributes(spec.ResourceAttributes, spec.NonResourceAttributes)}
	f.AddIf(spec.User == "" && len(spec.Groups) == 0,
		field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	f.Merge(resourceSelectors(spec.ResourceAttributes))
	return f.Errs
}

// accessAttributes checks that a review is about either a resource or a URL path.
func accessAttributes(r *authorizationv1.ResourceAttributes, n *authorizationv1.NonResourceAttributes) field.ErrorList {
	var f validation.Findings
	f.AddIf((r == nil) == (n == nil), field.Invalid(validation.SpecPath, validation.Unversioned(n),
		"exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	return f.Errs
}

// resourceSelectors checks the field selector and the label selector of a review (KEP-4601). An unknown operator is
// valid, because the client may be newer than the server.
func resourceSelectors(r *authorizationv1.ResourceAttributes) field.ErrorList {
	if r == nil {
		return nil
	}
	var f validation.Findings
	form := func(name, raw string, n int) *field.Path {
		path := field.NewPath("spec", "resourceAttributes", name)
		f.AddIf(raw != "" && n > 0, field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements"))
		f.AddIf(raw == "" && n == 0, field.Required(path.Child("requirements"),
			fmt.Sprintf("when %s is specified, requirements or rawSelector is required", path)))
		return path.Child("requirements")
	}
	if s := r.FieldSelector; s != nil {
		path := form("fieldSelector", s.RawSelector, len(s.Requirements))
		for i, requirement := range s.Requirements {
			f.Merge(metav1validation.ValidateFieldSelectorRequirement(requirement,
				metav1validation.FieldSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Index(i)))
		}
	}
	if s := r.LabelSelector; s != nil {
		path := form("labelSelector", s.RawSelector, len(s.Requirements))
		for i, requirement := range s.Requirements {
			f.Merge(metav1validation.ValidateLabelSelectorRequirement(requirement,
				metav1validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path.Index(i)))
		}
	}
	return f.Errs
}

func noMetadata(meta *metav1.ObjectMeta, butNamespace bool) field.ErrorList {
	rest, msg := *meta, "must be empty"
	rest.ManagedFields = nil
	if butNamespace {
		rest.Namespace, msg = "", "must be empty except for namespace"
	}
	if apiequality.Semantic.DeepEqual(rest, metav1.ObjectMeta{}) {
		return nil
	}
	return field.ErrorList{field.Invalid(validation.MetadataPath, *meta, msg)}
}

// invalidReview returns the error about an invalid review. As in kube-apiserver, the error names no kind.
func invalidReview(errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
}

func judge(ctx context.Context, a authorizer.Authorizer, attributes authorizer.AttributesRecord) authorizationv1.SubjectAccessReviewStatus {
	decision, reason, err := a.Authorize(ctx, attributes)
	status := authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow, Denied: decision == authorizer.DecisionDeny, Reason: reason,
	}
	status.EvaluationError = evaluationError(err, attributes)
	return status
}

// evaluationError returns the error of the authorizer and the names of the selectors that the server couldn't parse. A
// selector is ignored partially if some of its requirements could be parsed.
func evaluationError(err error, attributes authorizer.AttributesRecord) string {
	var texts []string
	if err != nil {
		texts = append(texts, err.Error())
	}
	ignored := func(name string, understood int, err error) {
		switch path := field.NewPath("spec", "resourceAttributes", name); {
		case err == nil:
		case understood > 0:
			texts = append(texts, fmt.Sprintf("%s partially ignored due to parse error", path))
		default:
			texts = append(texts, fmt.Sprintf("%s ignored due to parse error", path))
		}
	}
	ignored("fieldSelector", len(attributes.FieldSelectorRequirements), attributes.FieldSelectorParsingErr)
	ignored("labelSelector", len(attributes.LabelSelectorRequirements), attributes.LabelSelectorParsingErr)
	return strings.Join(texts, "; ")
}

func attributesOf(spec authorizationv1.SubjectAccessReviewSpec) authorizer.AttributesRecord {
	subject := &user.DefaultInfo{Name: spec.User, Groups: spec.Groups, UID: spec.UID, Extra: map[string][]string{}}
	for key, values := range spec.Extra {
		subject.Extra[key] = values
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

// matchAll returns the version for the authorizer: the version of the review, or "*" if the review has no version.
func matchAll(version string) string {
	if version == "" {
		return "*"
	}
	return version
}

// fieldRequirements returns the requirements of a field selector that an authorizer understands. It leaves out
// other requirements, and reports them in the error. The user then needs a permission for more objects than the
// review is about, never for fewer.
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
			errs = append(errs, fmt.Errorf("fieldSelector requirement on %q: an authorizer needs operator In or NotIn "+
				"with one value, not %s with %d values", r.Key, r.Operator, len(r.Values)))
			continue
		}
		requirements = append(requirements, fields.Requirement{Field: r.Key, Operator: operator, Value: r.Values[0]})
	}
	return requirements, utilerrors.NewAggregate(errs)
}

// labelRequirements returns the requirements of a label selector. Like fieldRequirements, it leaves out requirements that
// aren't valid.
func labelRequirements(s *authorizationv1.LabelSelectorAttributes) (labels.Requirements, error) {
	if s.RawSelector != "" {
		parsed, err := labels.Parse(s.RawSelector)
		if err != nil {
			return nil, err
		}
		requirements, _ := parsed.Requirements()
		return requirements, nil
	}
	var requirements labels.Requirements
	var errs []error
	for _, r := range s.Requirements {
		operator := map[metav1.LabelSelectorOperator]selection.Operator{
			metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
			metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
		}[r.Operator]
		requirement, err := labels.NewRequirement(r.Key, operator, r.Values)
		if err != nil {
			errs = append(errs, fmt.Errorf("labelSelector requirement on %q: %w", r.Key, err))
			continue
		}
		requirements = append(requirements, *requirement)
	}
	return requirements, utilerrors.NewAggregate(errs)
}
