package admissionregistration

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/client-go/util/jsonpath"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// validatingAdmissionPolicyKind is the row of validatingadmissionpolicies in the server's table of kinds.
var validatingAdmissionPolicyKind = registry.Kind{
	Resource:   "validatingadmissionpolicies",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.ValidatingAdmissionPolicy{}, List: &admissionregistrationv1.ValidatingAdmissionPolicyList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultValidatingAdmissionPolicy),
		registry.DefaultLike[admissionregistrationv1beta1.ValidatingAdmissionPolicy](defaultValidatingAdmissionPolicy),
		registry.DefaultLike[admissionregistrationv1alpha1.ValidatingAdmissionPolicy](defaultValidatingAdmissionPolicy),
	},
	Status:              true,
	StatusKeepsMetadata: true,
	Generation:          true,
	ConditionalUpdate:   true,
	Printer:             &validatingAdmissionPolicyColumns,
	Hooks: withoutStaticNames(registry.HooksOf[*admissionregistrationv1.ValidatingAdmissionPolicy]{
		Validate:             ValidateValidatingAdmissionPolicy,
		ValidateUpdate:       validateValidatingAdmissionPolicyUpdate,
		ValidateStatusUpdate: validateValidatingAdmissionPolicyStatusUpdate,
		Authorize: readsParams(func(p *admissionregistrationv1.ValidatingAdmissionPolicy) *admissionregistrationv1.ParamKind {
			return p.Spec.ParamKind
		}),
	}),
}

func defaultValidatingAdmissionPolicy(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
	defaults.Pointer(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
	defaultMatchResources(p.Spec.MatchConstraints)
}

// ValidateValidatingAdmissionPolicy checks a new policy, and compiles its expressions.
func ValidateValidatingAdmissionPolicy(o *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	return validatingPolicy(o, storedPolicy{})
}

func validateValidatingAdmissionPolicyUpdate(o, old *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	stored := storedMatching(o.Spec.ParamKind, old.Spec.ParamKind, o.Spec.MatchConditions, old.Spec.MatchConditions)
	stored.expressions, stored.messages, stored.annotations = sets.New[string](), sets.New[string](), sets.New[string]()
	for _, v := range old.Spec.Validations {
		stored.expressions.Insert(v.Expression)
		stored.messages.Insert(v.MessageExpression)
	}
	for _, a := range old.Spec.AuditAnnotations {
		stored.annotations.Insert(a.ValueExpression)
	}
	return validatingPolicy(o, stored)
}

// validateValidatingAdmissionPolicyStatusUpdate checks the status, which has the result of type checking.
func validateValidatingAdmissionPolicyStatusUpdate(o, _ *admissionregistrationv1.ValidatingAdmissionPolicy) field.ErrorList {
	var f validation.Findings
	status := field.NewPath("status")
	if o.Status.TypeChecking != nil {
		for i, w := range o.Status.TypeChecking.ExpressionWarnings {
			path := status.Child("typeChecking", "expressionWarnings").Index(i)
			f.AddIf(w.Warning == "", field.Required(path.Child("warning"), ""))
			ref := strings.TrimSpace(w.FieldRef)
			if ref == "" {
				f.Add(field.Required(path.Child("fieldRef"), ""))
			} else if err := jsonpath.New("spec").Parse("{" + ref + "}"); err != nil {
				f.Add(field.Invalid(path.Child("fieldRef"), ref, fmt.Sprintf("invalid JSONPath: %v", err)))
			}
		}
	}
	f.Merge(metav1validation.ValidateConditions(o.Status.Conditions, status.Child("conditions")))
	return f.Errs
}

const (
	maxAuditAnnotations = 20
	// maxAuditExpression bounds the length of an audit annotation's expression. It is less than the limit of the
	// annotation's value, because the value is often longer than the expression.
	maxAuditExpression = 5 * 1024
)

func validatingPolicy(o *admissionregistrationv1.ValidatingAdmissionPolicy, stored storedPolicy) field.ErrorList {
	f := validation.Findings{Errs: apivalidation.ValidateObjectMeta(&o.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, validation.MetadataPath)}
	spec := field.NewPath("spec")
	s := &o.Spec
	f.Merge(
		policyMatching(s.FailurePolicy, s.ParamKind, s.MatchConstraints, spec),
		policyConditions(s.MatchConditions, s.ParamKind != nil, stored, spec))

	compiler, err := policyCompiler(len(s.Variables) > 0)
	if err != nil {
		return append(f.Errs, field.InternalError(spec.Child("variables"), err))
	}
	uses := plugincel.OptionalVariableDeclarations{HasParams: s.ParamKind != nil, HasAuthorizer: true}
	f.Merge(policyVariables(compiler, s.Variables, uses, stored, spec.Child("variables")))
	if len(s.Validations) == 0 && len(s.AuditAnnotations) == 0 {
		const msg = "validations or auditAnnotations must contain at least one item"
		f.Add(field.Required(spec.Child("validations"), msg), field.Required(spec.Child("auditAnnotations"), msg))
		return f.Errs
	}
	for i, v := range s.Validations {
		f.Merge(policyValidation(compiler, &v, uses, stored, spec.Child("validations").Index(i)))
	}
	path := spec.Child("auditAnnotations")
	f.AddIf(len(s.AuditAnnotations) > maxAuditAnnotations, field.Invalid(path, validation.Unversioned(s.AuditAnnotations),
		fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)))
	keys := sets.New[string]()
	for i, a := range s.AuditAnnotations {
		f.Merge(auditAnnotation(compiler, o.Name, &a, uses, stored, path.Index(i)))
		f.AddIf(keys.Has(a.Key), field.Duplicate(path.Index(i).Child("key"), a.Key))
		keys.Insert(a.Key)
	}
	return f.Errs
}

func policyValidation(compiler plugincel.Compiler, v *admissionregistrationv1.Validation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f validation.Findings
	if strings.TrimSpace(v.Expression) == "" {
		f.Add(field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		e := validation.Expression{ExpressionAccessor: &validating.ValidationCondition{Expression: v.Expression}, Uses: uses, Stored: stored.expressions, Written: v.Expression}
		f.Merge(e.Check(compiler, path.Child("expression")))
	}
	if strings.TrimSpace(v.MessageExpression) != "" {
		uses.HasAuthorizer = false
		e := validation.Expression{ExpressionAccessor: &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}, Uses: uses, Stored: stored.messages, Written: v.MessageExpression}
		f.Merge(e.Check(compiler, path.Child("messageExpression")))
	} else {
		f.AddIf(v.MessageExpression != "", field.Invalid(path.Child("messageExpression"), v.MessageExpression,
			"must be non-empty if specified"))
	}
	message := strings.TrimSpace(v.Message)
	switch {
	case v.Message != "" && message == "":
		f.Add(field.Invalid(path.Child("message"), v.Message, "must be non-empty if specified"))
	case strings.ContainsAny(message, "\n\r"):
		f.Add(field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	f.Merge(validation.OptionalOneOf(path.Child("reason"), v.Reason,
		metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge))
	return f.Errs
}

func auditAnnotation(compiler plugincel.Compiler, policy string, a *admissionregistrationv1.AuditAnnotation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f validation.Findings
	if policy == "" {
		f.Add(field.Invalid(path.Child("key"), a.Key, "requires metadata.name be non-empty"))
	} else {
		f.Merge(validation.Qualified(path.Child("key"), policy+"/"+a.Key))
	}
	value := path.Child("valueExpression")
	switch text := strings.TrimSpace(a.ValueExpression); {
	case text == "":
		f.Add(field.Required(value, "valueExpression is not specified"))
	case len(text) > maxAuditExpression:
		f.Add(field.Required(value, fmt.Sprintf("must not exceed %d bytes in length", maxAuditExpression)))
	default:
		e := validation.Expression{ExpressionAccessor: &validating.AuditAnnotationCondition{ValueExpression: text}, Uses: uses, Stored: stored.annotations, Written: a.ValueExpression}
		f.Merge(e.Check(compiler, value))
	}
	return f.Errs
}

var validatingAdmissionPolicyColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Number("Validations", "Validations indicates the number of validation rules defined in this configuration"),
		paramKindColumn,
		printers.AgeColumn,
	},
	func(p *admissionregistrationv1.ValidatingAdmissionPolicy) []any {
		return []any{p.Name, int64(len(p.Spec.Validations)), paramKindCell(p.Spec.ParamKind), printers.Since(p.CreationTimestamp)}
	})
