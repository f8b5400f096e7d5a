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
	var f findings
	status := field.NewPath("status")
	if o.Status.TypeChecking != nil {
		for i, w := range o.Status.TypeChecking.ExpressionWarnings {
			path := status.Child("typeChecking", "expressionWarnings").Index(i)
			f.addIf(w.Warning == "", field.Required(path.Child("warning"), ""))
			ref := strings.TrimSpace(w.FieldRef)
			if ref == "" {
				f.add(field.Required(path.Child("fieldRef"), ""))
			} else if err := jsonpath.New("spec").Parse("{" + ref + "}"); err != nil {
				f.add(field.Invalid(path.Child("fieldRef"), ref, fmt.Sprintf("invalid JSONPath: %v", err)))
			}
		}
	}
	f.merge(metav1validation.ValidateConditions(o.Status.Conditions, status.Child("conditions")))
	return f.errs
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
	f.merge(validationActions(o.Spec.ValidationActions, field.NewPath("spec", "validationActions")))
	return f.errs
}

// ValidatingAdmissionPolicyBindingUpdate checks a binding that replaces another.
func ValidatingAdmissionPolicyBindingUpdate(o, _ *admissionv1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	return ValidatingAdmissionPolicyBinding(o)
}

// MutatingAdmissionPolicyBinding checks a new binding.
func MutatingAdmissionPolicyBinding(o *admissionv1.MutatingAdmissionPolicyBinding) field.ErrorList {
	f := policyBinding(&o.ObjectMeta, o.Spec.PolicyName, o.Spec.ParamRef, o.Spec.MatchResources, "matchResources")
	f.merge(mutatedOperations(o.Spec.MatchResources, field.NewPath("spec", "matchResources")))
	return f.errs
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
	f := findings{apivalidation.ValidateObjectMeta(&o.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, metadataPath)}
	spec := field.NewPath("spec")
	s := &o.Spec
	f.merge(policyMatching(s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, stored, spec))

	compiler, err := policyCompiler(len(s.Variables) > 0)
	if err != nil {
		return append(f.errs, field.InternalError(spec.Child("variables"), err))
	}
	uses := plugincel.OptionalVariableDeclarations{HasParams: s.ParamKind != nil, HasAuthorizer: true}
	f.merge(policyVariables(compiler, s.Variables, uses, stored, spec.Child("variables")))
	if len(s.Validations) == 0 && len(s.AuditAnnotations) == 0 {
		const msg = "validations or auditAnnotations must contain at least one item"
		f.add(field.Required(spec.Child("validations"), msg), field.Required(spec.Child("auditAnnotations"), msg))
		return f.errs
	}
	for i, v := range s.Validations {
		f.merge(policyValidation(compiler, &v, uses, stored, spec.Child("validations").Index(i)))
	}
	path := spec.Child("auditAnnotations")
	f.addIf(len(s.AuditAnnotations) > maxAuditAnnotations, field.Invalid(path, unversioned(s.AuditAnnotations),
		fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)))
	keys := sets.New[string]()
	for i, a := range s.AuditAnnotations {
		f.merge(auditAnnotation(compiler, o.Name, &a, uses, stored, path.Index(i)))
		f.addIf(keys.Has(a.Key), field.Duplicate(path.Index(i).Child("key"), a.Key))
		keys.Insert(a.Key)
	}
	return f.errs
}

func mutatingPolicy(o *admissionv1.MutatingAdmissionPolicy, stored storedPolicy) field.ErrorList {
	f := findings{apivalidation.ValidateObjectMeta(&o.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, metadataPath)}
	spec := field.NewPath("spec")
	s := &o.Spec
	f.merge(policyMatching(s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, stored, spec))
	f.merge(mutatedOperations(s.MatchConstraints, spec.Child("matchConstraints")))

	compiler, err := policyCompiler(true)
	if err != nil {
		return append(f.errs, field.InternalError(spec.Child("variables"), err))
	}
	uses := plugincel.OptionalVariableDeclarations{HasParams: s.ParamKind != nil, HasAuthorizer: true}
	f.merge(policyVariables(compiler, s.Variables, uses, stored, spec.Child("variables")))
	path := spec.Child("mutations")
	f.addIf(len(s.Mutations) == 0, field.Required(path, "mutations must contain at least one item"))
	uses.HasPatchTypes = true
	for i, m := range s.Mutations {
		f.merge(policyMutation(compiler, &m, uses, stored, path.Index(i)))
	}
	f.merge(requiredOneOf(spec.Child("reinvocationPolicy"), s.ReinvocationPolicy, reinvocationPolicies...))
	return f.errs
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
	var f findings
	f.addIf(failure == nil, field.Required(spec.Child("failurePolicy"), ""))
	f.merge(optionalOneOf(spec.Child("failurePolicy"), failure, failurePolicies...))
	if params != nil {
		f.merge(paramKind(params, spec.Child("paramKind")))
	}
	path := spec.Child("matchConstraints")
	if match == nil {
		f.add(field.Required(path, ""))
	} else {
		f.merge(matchResources(match, path))
		// Without a rule there are no types to check expressions against.
		f.addIf(len(match.ResourceRules) == 0, field.Required(path.Child("resourceRules"), ""))
	}
	if !stored.sameConditions {
		f.merge(matchConditions(conditions, params != nil, stored.conditions, spec.Child("matchConditions")))
	}
	return f.errs
}

func paramKind(k *admissionv1.ParamKind, path *field.Path) field.ErrorList {
	var f findings
	version := path.Child("apiVersion")
	group, name, slash := strings.Cut(k.APIVersion, "/")
	if !slash {
		group, name = "", k.APIVersion
	}
	switch {
	case k.APIVersion == "":
		f.add(field.Required(version, ""))
	case strings.Count(k.APIVersion, "/") > 1:
		f.add(field.Invalid(version, k.APIVersion, "unexpected GroupVersion string: "+k.APIVersion))
	default:
		if group != "" {
			f.merge(follows(joined(utilvalidation.IsDNS1123Subdomain, ","), version, group))
		}
		if name == "" {
			f.add(field.Invalid(version, k.APIVersion, "version must be specified"))
		} else {
			f.merge(follows(joined(utilvalidation.IsDNS1035Label, ","), version, name))
		}
	}
	if k.Kind == "" {
		f.add(field.Required(path.Child("kind"), ""))
	} else if msgs := utilvalidation.IsDNS1035Label(strings.ToLower(k.Kind)); len(msgs) > 0 {
		f.add(field.Invalid(path.Child("kind"), k.Kind,
			"may have mixed case, but should otherwise match: "+strings.Join(msgs, ",")))
	}
	return f.errs
}

func matchResources(m *admissionv1.MatchResources, at *field.Path) field.ErrorList {
	var f findings
	f.addIf(m.MatchPolicy == nil, field.Required(at.Child("matchPolicy"), ""))
	f.merge(optionalOneOf(at.Child("matchPolicy"), m.MatchPolicy, matchPolicies...))
	for _, s := range []struct {
		name     string
		selector *metav1.LabelSelector
	}{{"namespaceSelector", m.NamespaceSelector}, {"objectSelector", m.ObjectSelector}} {
		f.addIf(s.selector == nil, field.Required(at.Child(s.name), ""))
		f.merge(metav1validation.ValidateLabelSelector(s.selector, metav1validation.LabelSelectorValidationOptions{}, at.Child(s.name)))
	}
	for _, rules := range []struct {
		name  string
		rules []admissionv1.NamedRuleWithOperations
	}{{"resourceRules", m.ResourceRules}, {"excludeResourceRules", m.ExcludeResourceRules}} {
		for i, r := range rules.rules {
			at := at.Child(rules.name).Index(i)
			for j, name := range r.ResourceNames {
				at := at.Child("resourceNames").Index(j)
				f.merge(follows(named(pathSegmentName), at, name))
				f.addIf(slices.Contains(r.ResourceNames[:j], name), field.Duplicate(at, name))
			}
			f.merge(admissionRule(&r.RuleWithOperations, at))
		}
	}
	return f.errs
}

// mutatedOperations checks that a mutating policy matches no deletions, which have no object to change: "*" stands for the
// other operations.
func mutatedOperations(m *admissionv1.MatchResources, at *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var f findings
	for _, r := range m.ResourceRules {
		for _, op := range r.Operations {
			f.merge(oneOf(at.Child("resourceRules", "operations"), op,
				admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create, admissionv1.Update))
		}
	}
	return f.errs
}

func policyVariables(compiler plugincel.Compiler, variables []admissionv1.Variable,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f findings
	for i, v := range variables {
		path := path.Index(i)
		if strings.TrimSpace(v.Name) == "" {
			f.add(field.Required(path.Child("name"), "name is not specified"))
		} else {
			f.addIf(!isCELIdentifier(v.Name), field.Invalid(path.Child("name"), v.Name, "name is not a valid CEL identifier"))
		}
		composed, ok := compiler.(*plugincel.CompositedCompiler)
		if strings.TrimSpace(v.Expression) == "" {
			f.add(field.Required(path.Child("expression"), "expression is not specified"))
		} else if ok {
			variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
			e := expression{ExpressionAccessor: variable, stored: stored.expressions, written: v.Expression}
			f.merge(e.failure(composed.CompileAndStoreVariable(variable, uses, e.environment()).Error, path.Child("expression")))
		}
	}
	return f.errs
}

func policyValidation(compiler plugincel.Compiler, v *admissionv1.Validation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f findings
	if strings.TrimSpace(v.Expression) == "" {
		f.add(field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		e := expression{&validating.ValidationCondition{Expression: v.Expression}, uses, stored.expressions, v.Expression}
		f.merge(e.check(compiler, path.Child("expression")))
	}
	if strings.TrimSpace(v.MessageExpression) != "" {
		uses.HasAuthorizer = false
		e := expression{&validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}, uses,
			stored.messages, v.MessageExpression}
		f.merge(e.check(compiler, path.Child("messageExpression")))
	} else {
		f.addIf(v.MessageExpression != "", field.Invalid(path.Child("messageExpression"), v.MessageExpression,
			"must be non-empty if specified"))
	}
	message := strings.TrimSpace(v.Message)
	switch {
	case v.Message != "" && message == "":
		f.add(field.Invalid(path.Child("message"), v.Message, "message must be non-empty if specified"))
	case strings.ContainsAny(message, "\n\r"):
		f.add(field.Invalid(path.Child("message"), v.Message, "message must not contain line breaks"))
	}
	f.merge(optionalOneOf(path.Child("reason"), v.Reason,
		metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge))
	return f.errs
}

func auditAnnotation(compiler plugincel.Compiler, policy string, a *admissionv1.AuditAnnotation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f findings
	if policy == "" {
		f.add(field.Invalid(path.Child("key"), a.Key, "requires metadata.name be non-empty"))
	} else {
		f.merge(qualified(path.Child("key"), policy+"/"+a.Key))
	}
	value := path.Child("valueExpression")
	switch text := strings.TrimSpace(a.ValueExpression); {
	case text == "":
		f.add(field.Required(value, "valueExpression is not specified"))
	case len(text) > maxAuditExpression:
		f.add(field.Required(value, fmt.Sprintf("must not exceed %d bytes in length", maxAuditExpression)))
	default:
		e := expression{&validating.AuditAnnotationCondition{ValueExpression: text}, uses, stored.annotations, a.ValueExpression}
		f.merge(e.check(compiler, value))
	}
	return f.errs
}

// policyMutation checks that a mutation has the one member that its type names.
func policyMutation(compiler plugincel.Compiler, m *admissionv1.Mutation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f findings
	f.merge(requiredOneOf(path.Child("patchType"), m.PatchType,
		admissionv1.PatchTypeApplyConfiguration, admissionv1.PatchTypeJSONPatch))

	member := func(patchType admissionv1.PatchType, name string, set bool, text string, accessor plugincel.ExpressionAccessor) {
		path := path.Child(name)
		switch {
		case m.PatchType == patchType && !set:
			f.add(field.Required(path, "must be specified when patchType is "+string(patchType)))
		case m.PatchType == patchType && strings.TrimSpace(text) == "":
			f.add(field.Required(path.Child("expression"), "expression is not specified"))
		case m.PatchType == patchType:
			e := expression{accessor, uses, stored.expressions, text}
			f.merge(e.check(compiler, path.Child("expression")))
		case set && m.PatchType != "":
			f.add(field.Invalid(path, "{ "+name+" }", "must not be specified when patchType is "+string(m.PatchType)))
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
	return f.errs
}

func policyBinding(meta *metav1.ObjectMeta, policy string, params *admissionv1.ParamRef,
	match *admissionv1.MatchResources, matchField string) findings {
	f := findings{apivalidation.ValidateObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain, metadataPath)}
	spec := field.NewPath("spec")
	f.merge(required(named(apivalidation.NameIsDNSSubdomain), spec.Child("policyName"), policy))
	if params != nil {
		f.merge(paramRef(params, spec.Child("paramRef")))
	}
	if match != nil {
		f.merge(matchResources(match, spec.Child(matchField)))
	}
	return f
}

func paramRef(r *admissionv1.ParamRef, at *field.Path) field.ErrorList {
	var f findings
	const exclusive = "name and selector are mutually exclusive"
	if r.Name != "" {
		f.merge(follows(named(pathSegmentName), at.Child("name"), r.Name))
		f.addIf(r.Selector != nil, field.Forbidden(at.Child("name"), exclusive))
	}
	if r.Selector != nil {
		f.merge(metav1validation.ValidateLabelSelector(r.Selector, metav1validation.LabelSelectorValidationOptions{}, at.Child("selector")))
		f.addIf(r.Name != "", field.Forbidden(at.Child("selector"), exclusive))
	}
	f.addIf(r.Name == "" && r.Selector == nil, field.Required(at, "one of name or selector must be specified"))

	action := at.Child("parameterNotFoundAction")
	if r.ParameterNotFoundAction == nil {
		f.add(field.Required(action, ""))
	} else {
		f.merge(requiredOneOf(action, *r.ParameterNotFoundAction, admissionv1.DenyAction, admissionv1.AllowAction))
	}
	return f.errs
}

func validationActions(actions []admissionv1.ValidationAction, path *field.Path) field.ErrorList {
	var f findings
	for i, a := range actions {
		f.merge(oneOf(path.Index(i), a, admissionv1.Audit, admissionv1.Deny, admissionv1.Warn))
		f.addIf(slices.Contains(actions[:i], a), field.Duplicate(path.Index(i), a))
	}
	f.addIf(slices.Contains(actions, admissionv1.Deny) && slices.Contains(actions, admissionv1.Warn),
		field.Invalid(path, actions, "must not contain both Deny and Warn (repeating the same validation failure "+
			"information in the API response and headers serves no purpose)"))
	f.addIf(len(actions) == 0, field.Required(path, "at least one validation action is required"))
	return f.errs
}
