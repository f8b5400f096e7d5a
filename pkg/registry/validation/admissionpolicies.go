package validation

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/util/jsonpath"
)

// ValidatingAdmissionPolicy checks a new policy, and compiles its expressions.
func ValidatingAdmissionPolicy(o *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	return validatingPolicy(o, storedPolicy{})
}

// ValidatingAdmissionPolicyUpdate checks a policy that replaces another.
func ValidatingAdmissionPolicyUpdate(o, old *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	stored := storedPolicy{sameConditions: reflect.DeepEqual(o.Spec.ParamKind, old.Spec.ParamKind) &&
		reflect.DeepEqual(o.Spec.MatchConditions, old.Spec.MatchConditions)}
	stored.conditions = conditionTexts(old.Spec.MatchConditions)
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

// ValidatingAdmissionPolicyStatusUpdate checks the result of type checking.
func ValidatingAdmissionPolicyStatusUpdate(o, _ *admissionv1.ValidatingAdmissionPolicy) field.ErrorList {
	var f Findings
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

// MutatingAdmissionPolicy checks a new policy, and compiles its expressions.
func MutatingAdmissionPolicy(o *admissionv1.MutatingAdmissionPolicy) field.ErrorList {
	return mutatingPolicy(o, storedPolicy{})
}

// MutatingAdmissionPolicyUpdate checks a policy that replaces another.
func MutatingAdmissionPolicyUpdate(o, old *admissionv1.MutatingAdmissionPolicy) field.ErrorList {
	stored := storedPolicy{sameConditions: reflect.DeepEqual(o.Spec.ParamKind, old.Spec.ParamKind) &&
		reflect.DeepEqual(o.Spec.MatchConditions, old.Spec.MatchConditions)}
	stored.conditions = conditionTexts(old.Spec.MatchConditions)
	stored.expressions = sets.New[string]()
	for _, m := range old.Spec.Mutations {
		if m.ApplyConfiguration != nil {
			stored.expressions.Insert(m.ApplyConfiguration.Expression)
		}
		if m.JSONPatch != nil {
			stored.expressions.Insert(m.JSONPatch.Expression)
		}
	}
	return mutatingPolicy(o, stored)
}

// ValidatingAdmissionPolicyBinding checks a new binding.
func ValidatingAdmissionPolicyBinding(o *admissionv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	// The misspelt path is the reference's.
	f := policyBinding(&o.ObjectMeta, o.Spec.PolicyName, o.Spec.ParamRef, o.Spec.MatchResources, "matchResouces")
	f.Merge(validationActions(o.Spec.ValidationActions, field.NewPath("spec", "validationActions")))
	return f.Errs
}

// ValidatingAdmissionPolicyBindingUpdate checks a binding that replaces another.
func ValidatingAdmissionPolicyBindingUpdate(o, _ *admissionv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	return ValidatingAdmissionPolicyBinding(o)
}

// MutatingAdmissionPolicyBinding checks a new binding.
func MutatingAdmissionPolicyBinding(o *admissionv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	f := policyBinding(&o.ObjectMeta, o.Spec.PolicyName, o.Spec.ParamRef, o.Spec.MatchResources, "matchResources")
	f.Merge(mutatedOperations(o.Spec.MatchResources, field.NewPath("spec", "matchResources")))
	return f.Errs
}

// MutatingAdmissionPolicyBindingUpdate checks a binding that replaces another.
func MutatingAdmissionPolicyBindingUpdate(o, _ *admissionv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return MutatingAdmissionPolicyBinding(o)
}

// storedPolicy is what an old policy lets its successor keep.
type storedPolicy struct {
	sameConditions                                 bool
	conditions, expressions, messages, annotations sets.Set[string]
}

func conditionTexts(conditions []admissionv1.MatchCondition) sets.Set[string] {
	texts := sets.New[string]()
	for _, c := range conditions {
		texts.Insert(c.Expression)
	}
	return texts
}

const (
	maxAuditAnnotations = 20
	// maxAuditExpression is less than an annotation's value may have, since an
	// expression often yields more than its own length.
	maxAuditExpression = 5 * 1024
)

func validatingPolicy(o *admissionv1.ValidatingAdmissionPolicy, stored storedPolicy) field.ErrorList {
	f := Findings{apivalidation.ValidateObjectMeta(&o.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, MetadataPath)}
	spec := field.NewPath("spec")
	s := &o.Spec
	f.Merge(policyMatching(s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, stored, spec))

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
	f.AddIf(len(s.AuditAnnotations) > maxAuditAnnotations, field.Invalid(path, Unversioned(s.AuditAnnotations),
		fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)))
	keys := sets.New[string]()
	for i, a := range s.AuditAnnotations {
		f.Merge(auditAnnotation(compiler, o.Name, &a, uses, stored, path.Index(i)))
		f.AddIf(keys.Has(a.Key), field.Duplicate(path.Index(i).Child("key"), a.Key))
		keys.Insert(a.Key)
	}
	return f.Errs
}

func mutatingPolicy(o *admissionv1.MutatingAdmissionPolicy, stored storedPolicy) field.ErrorList {
	f := Findings{apivalidation.ValidateObjectMeta(&o.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, MetadataPath)}
	spec := field.NewPath("spec")
	s := &o.Spec
	f.Merge(policyMatching(s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, stored, spec))
	f.Merge(mutatedOperations(s.MatchConstraints, spec.Child("matchConstraints")))

	compiler, err := policyCompiler(true)
	if err != nil {
		return append(f.Errs, field.InternalError(spec.Child("variables"), err))
	}
	uses := plugincel.OptionalVariableDeclarations{HasParams: s.ParamKind != nil, HasAuthorizer: true}
	f.Merge(policyVariables(compiler, s.Variables, uses, stored, spec.Child("variables")))
	path := spec.Child("mutations")
	f.AddIf(len(s.Mutations) == 0, field.Required(path, "mutations must contain at least one item"))
	uses.HasPatchTypes = true
	for i, m := range s.Mutations {
		f.Merge(policyMutation(compiler, &m, uses, stored, path.Index(i)))
	}
	f.Merge(RequiredOneOf(spec.Child("reinvocationPolicy"), s.ReinvocationPolicy, reinvocationPolicies...))
	return f.Errs
}

// policyCompiler makes a compiler, which remembers variables if there are any.
func policyCompiler(variables bool) (plugincel.Compiler, error) {
	if !variables {
		return plainCompiler(), nil
	}
	return plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
}

// policyMatching checks what both kinds of policy say about what they apply to.
func policyMatching(failure *admissionv1.FailurePolicyType, params *admissionv1.ParamKind, match *admissionv1.MatchResources,
	conditions []admissionv1.MatchCondition, stored storedPolicy, spec *field.Path) field.ErrorList {
	var f Findings
	f.AddIf(failure == nil, field.Required(spec.Child("failurePolicy"), ""))
	f.Merge(OptionalOneOf(spec.Child("failurePolicy"), failure, failurePolicies...))
	if params != nil {
		f.Merge(paramKind(params, spec.Child("paramKind")))
	}
	path := spec.Child("matchConstraints")
	if match == nil {
		f.Add(field.Required(path, ""))
	} else {
		f.Merge(matchResources(match, path))
		// Without a rule there are no types to check expressions against.
		f.AddIf(len(match.ResourceRules) == 0, field.Required(path.Child("resourceRules"), ""))
	}
	if !stored.sameConditions {
		f.Merge(matchConditions(conditions, params != nil, stored.conditions, spec.Child("matchConditions")))
	}
	return f.Errs
}

func paramKind(k *admissionv1.ParamKind, path *field.Path) field.ErrorList {
	var f Findings
	version := path.Child("apiVersion")
	group, name, slash := strings.Cut(k.APIVersion, "/")
	if !slash {
		group, name = "", k.APIVersion
	}
	switch {
	case k.APIVersion == "":
		f.Add(field.Required(version, ""))
	case strings.Count(k.APIVersion, "/") > 1:
		f.Add(field.Invalid(version, k.APIVersion, "unexpected GroupVersion string: "+k.APIVersion))
	default:
		if group != "" {
			f.Merge(Follows(Joined(utilvalidation.IsDNS1123Subdomain, ","), version, group))
		}
		if name == "" {
			f.Add(field.Invalid(version, k.APIVersion, "version must be specified"))
		} else {
			f.Merge(Follows(Joined(utilvalidation.IsDNS1035Label, ","), version, name))
		}
	}
	if k.Kind == "" {
		f.Add(field.Required(path.Child("kind"), ""))
	} else if msgs := utilvalidation.IsDNS1035Label(strings.ToLower(k.Kind)); len(msgs) > 0 {
		f.Add(field.Invalid(path.Child("kind"), k.Kind,
			"may have mixed case, but should otherwise match: "+strings.Join(msgs, ",")))
	}
	return f.Errs
}

func matchResources(m *admissionv1.MatchResources, at *field.Path) field.ErrorList {
	var f Findings
	f.AddIf(m.MatchPolicy == nil, field.Required(at.Child("matchPolicy"), ""))
	f.Merge(OptionalOneOf(at.Child("matchPolicy"), m.MatchPolicy, matchPolicies...))
	for _, s := range []struct {
		name     string
		selector *metav1.LabelSelector
	}{{"namespaceSelector", m.NamespaceSelector}, {"objectSelector", m.ObjectSelector}} {
		f.AddIf(s.selector == nil, field.Required(at.Child(s.name), ""))
		f.Merge(metav1validation.ValidateLabelSelector(s.selector, metav1validation.LabelSelectorValidationOptions{}, at.Child(s.name)))
	}
	for _, rules := range []struct {
		name  string
		rules []admissionv1.NamedRuleWithOperations
	}{{"resourceRules", m.ResourceRules}, {"excludeResourceRules", m.ExcludeResourceRules}} {
		for i, r := range rules.rules {
			at := at.Child(rules.name).Index(i)
			for j, name := range r.ResourceNames {
				at := at.Child("resourceNames").Index(j)
				f.Merge(Follows(Named(PathSegmentName), at, name))
				f.AddIf(slices.Contains(r.ResourceNames[:j], name), field.Duplicate(at, name))
			}
			f.Merge(admissionRule(&r.RuleWithOperations, at))
		}
	}
	return f.Errs
}

// mutatedOperations checks that a mutating policy matches no deletions, which have no object to change: "*" stands for the
// other operations.
func mutatedOperations(m *admissionv1.MatchResources, at *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var f Findings
	for _, r := range m.ResourceRules {
		for _, op := range r.Operations {
			f.Merge(OneOf(at.Child("resourceRules", "operations"), op,
				admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Update))
		}
	}
	return f.Errs
}

func policyVariables(compiler plugincel.Compiler, variables []admissionv1.Variable,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f Findings
	for i, v := range variables {
		path := path.Index(i)
		if strings.TrimSpace(v.Name) == "" {
			f.Add(field.Required(path.Child("name"), "name is not specified"))
		} else {
			f.AddIf(!isCELIdentifier(v.Name), field.Invalid(path.Child("name"), v.Name, "name is not a valid CEL identifier"))
		}
		composed, ok := compiler.(*plugincel.CompositedCompiler)
		if strings.TrimSpace(v.Expression) == "" {
			f.Add(field.Required(path.Child("expression"), "expression is not specified"))
		} else if ok {
			variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
			e := Expression{ExpressionAccessor: variable, Stored: stored.expressions, Written: v.Expression}
			f.Merge(e.Failure(composed.CompileAndStoreVariable(variable, uses, e.Environment()).Error, path.Child("expression")))
		}
	}
	return f.Errs
}

func policyValidation(compiler plugincel.Compiler, v *admissionv1.Validation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f Findings
	if strings.TrimSpace(v.Expression) == "" {
		f.Add(field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		e := Expression{&validating.ValidationCondition{Expression: v.Expression}, uses, stored.expressions, v.Expression}
		f.Merge(e.Check(compiler, path.Child("expression")))
	}
	if strings.TrimSpace(v.MessageExpression) != "" {
		uses.HasAuthorizer = false
		e := Expression{&validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}, uses,
			stored.messages, v.MessageExpression}
		f.Merge(e.Check(compiler, path.Child("messageExpression")))
	} else {
		f.AddIf(v.MessageExpression != "", field.Invalid(path.Child("messageExpression"), v.MessageExpression,
			"must be non-empty if specified"))
	}
	message := strings.TrimSpace(v.Message)
	switch {
	case v.Message != "" && message == "":
		f.Add(field.Invalid(path.Child("message"), v.Message, "message must be non-empty if specified"))
	case strings.ContainsAny(message, "\n\r"):
		f.Add(field.Invalid(path.Child("message"), v.Message, "message must not contain line breaks"))
	}
	f.Merge(OptionalOneOf(path.Child("reason"), v.Reason,
		metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge))
	return f.Errs
}

func auditAnnotation(compiler plugincel.Compiler, policy string, a *admissionv1.AuditAnnotation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f Findings
	if policy == "" {
		f.Add(field.Invalid(path.Child("key"), a.Key, "requires metadata.name be non-empty"))
	} else {
		f.Merge(Qualified(path.Child("key"), policy+"/"+a.Key))
	}
	value := path.Child("valueExpression")
	switch text := strings.TrimSpace(a.ValueExpression); {
	case text == "":
		f.Add(field.Required(value, "valueExpression is not specified"))
	case len(text) > maxAuditExpression:
		f.Add(field.Required(value, fmt.Sprintf("must not exceed %d bytes in length", maxAuditExpression)))
	default:
		e := Expression{&validating.AuditAnnotationCondition{ValueExpression: text}, uses, stored.annotations, a.ValueExpression}
		f.Merge(e.Check(compiler, value))
	}
	return f.Errs
}

// policyMutation checks that a mutation has the one member that its type names.
func policyMutation(compiler plugincel.Compiler, m *admissionv1.Mutation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f Findings
	f.Merge(RequiredOneOf(path.Child("patchType"), m.PatchType,
		admissionv1.PatchTypeApplyConfiguration, admissionv1.PatchTypeJSONPatch))

	member := func(patchType admissionv1.PatchType, name string, set bool, text string, accessor plugincel.ExpressionAccessor) {
		path := path.Child(name)
		switch {
		case m.PatchType == patchType && !set:
			f.Add(field.Required(path, "must be specified when patchType is "+string(patchType)))
		case m.PatchType == patchType && strings.TrimSpace(text) == "":
			f.Add(field.Required(path.Child("expression"), "expression is not specified"))
		case m.PatchType == patchType:
			e := Expression{accessor, uses, stored.expressions, text}
			f.Merge(e.Check(compiler, path.Child("expression")))
		case set && m.PatchType != "":
			f.Add(field.Invalid(path, "{ "+name+" }", "must not be specified when patchType is "+string(m.PatchType)))
		}
	}
	var apply, json string
	if m.ApplyConfiguration != nil {
		apply = m.ApplyConfiguration.Expression
	}
	if m.JSONPatch != nil {
		json = m.JSONPatch.Expression
	}
	member(admissionv1.PatchTypeApplyConfiguration, "applyConfiguration", m.ApplyConfiguration != nil, apply,
		&patch.ApplyConfigurationCondition{Expression: apply})
	member(admissionv1.PatchTypeJSONPatch, "jsonPatch", m.JSONPatch != nil, json, &patch.JSONPatchCondition{Expression: json})
	return f.Errs
}

func policyBinding(meta *metav1.ObjectMeta, policy string, params *admissionv1.ParamRef,
	match *admissionv1.MatchResources, matchField string) Findings {
	f := Findings{apivalidation.ValidateObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain, MetadataPath)}
	spec := field.NewPath("spec")
	f.Merge(Required(Named(apivalidation.NameIsDNSSubdomain), spec.Child("policyName"), policy))
	if params != nil {
		f.Merge(paramRef(params, spec.Child("paramRef")))
	}
	if match != nil {
		f.Merge(matchResources(match, spec.Child(matchField)))
	}
	return f
}

func paramRef(r *admissionv1.ParamRef, at *field.Path) field.ErrorList {
	var f Findings
	const exclusive = "name and selector are mutually exclusive"
	if r.Name != "" {
		f.Merge(Follows(Named(PathSegmentName), at.Child("name"), r.Name))
		f.AddIf(r.Selector != nil, field.Forbidden(at.Child("name"), exclusive))
	}
	if r.Selector != nil {
		f.Merge(metav1validation.ValidateLabelSelector(r.Selector, metav1validation.LabelSelectorValidationOptions{}, at.Child("selector")))
		f.AddIf(r.Name != "", field.Forbidden(at.Child("selector"), exclusive))
	}
	f.AddIf(r.Name == "" && r.Selector == nil, field.Required(at, "one of name or selector must be specified"))

	action := at.Child("parameterNotFoundAction")
	if r.ParameterNotFoundAction == nil {
		f.Add(field.Required(action, ""))
	} else {
		f.Merge(RequiredOneOf(action, *r.ParameterNotFoundAction, admissionv1.DenyAction, admissionv1.AllowAction))
	}
	return f.Errs
}

func validationActions(actions []admissionv1.ValidationAction, path *field.Path) field.ErrorList {
	var f Findings
	for i, a := range actions {
		f.Merge(OneOf(path.Index(i), a, admissionv1.Audit, admissionv1.Deny, admissionv1.Warn))
		f.AddIf(slices.Contains(actions[:i], a), field.Duplicate(path.Index(i), a))
	}
	f.AddIf(slices.Contains(actions, admissionv1.Deny) && slices.Contains(actions, admissionv1.Warn),
		field.Invalid(path, actions, "must not contain both Deny and Warn (repeating the same validation failure "+
			"information in the API response and headers serves no purpose)"))
	f.AddIf(len(actions) == 0, field.Required(path, "at least one validation action is required"))
	return f.Errs
}
