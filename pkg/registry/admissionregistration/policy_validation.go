package admissionregistration

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// storedPolicy has the expressions of the stored policy. An update may keep them, even if they would be invalid in a
// new policy. sameConditions is true if the update changes neither the match conditions nor the paramKind.
type storedPolicy struct {
	sameConditions                                 bool
	conditions, expressions, messages, annotations sets.Set[string]
}

// storedMatching returns a storedPolicy with the match conditions of the stored policy, and sets its field
// sameConditions. The other sets of expressions are nil.
func storedMatching(params, oldParams *admissionregistrationv1.ParamKind, conditions, oldConditions []admissionregistrationv1.MatchCondition) storedPolicy {
	stored := storedPolicy{
		sameConditions: reflect.DeepEqual(params, oldParams) && reflect.DeepEqual(conditions, oldConditions),
		conditions:     sets.New[string](),
	}
	for _, c := range oldConditions {
		stored.conditions.Insert(c.Expression)
	}
	return stored
}

// policyCompiler returns a compiler for the expressions of one policy. If the argument variables is false, the policy
// shares the compiler with other policies. A policy with variables needs a compiler of its own, because the compiler
// stores the variables.
func policyCompiler(variables bool) (plugincel.Compiler, error) {
	if !variables {
		return plainCompiler(), nil
	}
	return plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
}

// policyMatching checks the fields by which validating and mutating policies select requests, except matchConditions.
func policyMatching(failure *admissionregistrationv1.FailurePolicyType, params *admissionregistrationv1.ParamKind,
	match *admissionregistrationv1.MatchResources, spec *field.Path) field.ErrorList {
	var f validation.Findings
	f.AddIf(failure == nil, field.Required(spec.Child("failurePolicy"), ""))
	f.Merge(validation.OptionalOneOf(spec.Child("failurePolicy"), failure, failurePolicies...))
	if params != nil {
		f.Merge(paramKind(params, spec.Child("paramKind")))
	}
	path := spec.Child("matchConstraints")
	if match == nil {
		f.Add(field.Required(path, ""))
	} else {
		f.Merge(matchResources(match, path))
		// The expressions of a policy are checked against the types that its rules select, so there must be a rule.
		f.AddIf(len(match.ResourceRules) == 0, field.Required(path.Child("resourceRules"), ""))
	}
	return f.Errs
}

// policyConditions checks the matchConditions of a policy. params is true for a policy with parameters.
func policyConditions(conditions []admissionregistrationv1.MatchCondition, params bool, stored storedPolicy, spec *field.Path) field.ErrorList {
	if stored.sameConditions {
		return nil
	}
	return matchConditions(conditions, params, stored.conditions, spec.Child("matchConditions"))
}

func paramKind(k *admissionregistrationv1.ParamKind, path *field.Path) field.ErrorList {
	var f validation.Findings
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
			f.Merge(validation.Follows(validation.Joined(utilvalidation.IsDNS1123Subdomain, ","), version, group))
		}
		if name == "" {
			f.Add(field.Invalid(version, k.APIVersion, "version must be specified"))
		} else {
			f.Merge(validation.Follows(validation.Joined(utilvalidation.IsDNS1035Label, ","), version, name))
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

func matchResources(m *admissionregistrationv1.MatchResources, at *field.Path) field.ErrorList {
	var f validation.Findings
	f.AddIf(m.MatchPolicy == nil, field.Required(at.Child("matchPolicy"), ""))
	f.Merge(validation.OptionalOneOf(at.Child("matchPolicy"), m.MatchPolicy, matchPolicies...))
	for _, s := range []struct {
		name     string
		selector *metav1.LabelSelector
	}{{"namespaceSelector", m.NamespaceSelector}, {"objectSelector", m.ObjectSelector}} {
		f.AddIf(s.selector == nil, field.Required(at.Child(s.name), ""))
		f.Merge(metav1validation.ValidateLabelSelector(s.selector, metav1validation.LabelSelectorValidationOptions{}, at.Child(s.name)))
	}
	for _, rules := range []struct {
		name  string
		rules []admissionregistrationv1.NamedRuleWithOperations
	}{{"resourceRules", m.ResourceRules}, {"excludeResourceRules", m.ExcludeResourceRules}} {
		for i, r := range rules.rules {
			at := at.Child(rules.name).Index(i)
			for j, name := range r.ResourceNames {
				at := at.Child("resourceNames").Index(j)
				f.Merge(validation.Follows(validation.Named(validation.PathSegmentName), at, name))
				f.AddIf(slices.Contains(r.ResourceNames[:j], name), field.Duplicate(at, name))
			}
			f.Merge(admissionRule(&r.RuleWithOperations, at))
		}
	}
	return f.Errs
}

// mutatedOperations checks that the rules of a mutating policy don't name the operation DELETE, which has no object
// to change. In a mutating policy, "*" stands for all other operations.
func mutatedOperations(m *admissionregistrationv1.MatchResources, at *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var f validation.Findings
	for _, r := range m.ResourceRules {
		for _, op := range r.Operations {
			f.Merge(validation.OneOf(at.Child("resourceRules", "operations"), op,
				admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create, admissionregistrationv1.Update))
		}
	}
	return f.Errs
}

func policyVariables(compiler plugincel.Compiler, variables []admissionregistrationv1.Variable,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var f validation.Findings
	for i, v := range variables {
		path := path.Index(i)
		if strings.TrimSpace(v.Name) == "" {
			f.Add(field.Required(path.Child("name"), "name is not specified"))
		} else {
			f.AddIf(!isCELIdentifier(v.Name), field.Invalid(path.Child("name"), v.Name, "must be a valid CEL identifier"))
		}
		composed, ok := compiler.(*plugincel.CompositedCompiler)
		if strings.TrimSpace(v.Expression) == "" {
			f.Add(field.Required(path.Child("expression"), "expression is not specified"))
		} else if ok {
			variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
			e := validation.Expression{ExpressionAccessor: variable, Stored: stored.expressions, Written: v.Expression}
			f.Merge(e.Failure(composed.CompileAndStoreVariable(variable, uses, e.Environment()).Error, path.Child("expression")))
		}
	}
	return f.Errs
}

func policyBinding(meta *metav1.ObjectMeta, policyName field.ErrorList, params *admissionregistrationv1.ParamRef,
	match *admissionregistrationv1.MatchResources) validation.Findings {
	f := validation.Findings{Errs: apivalidation.ValidateObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain, validation.MetadataPath)}
	spec := field.NewPath("spec")
	f.Merge(policyName)
	if params != nil {
		f.Merge(paramRef(params, spec.Child("paramRef")))
	}
	if match != nil {
		f.Merge(matchResources(match, spec.Child("matchResources")))
	}
	return f
}

func paramRef(r *admissionregistrationv1.ParamRef, at *field.Path) field.ErrorList {
	var f validation.Findings
	const exclusive = "name and selector are mutually exclusive"
	if r.Name != "" {
		f.Merge(validation.Follows(validation.Named(validation.PathSegmentName), at.Child("name"), r.Name))
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
		f.Merge(validation.RequiredOneOf(action, *r.ParameterNotFoundAction, admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction))
	}
	return f.Errs
}

// plainCompilers has the compilers that plainCompiler has made. The key is a version of Kubernetes, because the
// version determines which CEL features expressions may use.
var plainCompilers sync.Map

// plainCompiler returns the compiler for expressions without variables. All policies and webhooks share it, because
// it is expensive to make and has no state.
func plainCompiler() plugincel.Compiler {
	version := environment.DefaultCompatibilityVersion()
	made, _ := plainCompilers.LoadOrStore(version.String(), sync.OnceValue(func() plugincel.Compiler {
		return plugincel.NewCompiler(environment.MustBaseEnvSet(version))
	}))
	return made.(func() plugincel.Compiler)()
}

var (
	celIdentifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)
	// celReserved are the reserved words of CEL. They can't be names of variables.
	celReserved = strings.Fields("true false null in as break const continue else for function if import let " +
		"loop package namespace return var void while")
)

func isCELIdentifier(s string) bool {
	return celIdentifier.MatchString(s) && !slices.Contains(celReserved, s)
}

var paramKindColumn = printers.Text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy")

var bindingColumns = []printers.Column{
	printers.NameColumn,
	printers.Text("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to"),
	printers.Text("ParamRef", "ParamRef indicates the param resource which sets the configuration param"),
	printers.AgeColumn,
}

func bindingCells(meta *metav1.ObjectMeta, policy string, ref *admissionregistrationv1.ParamRef) []any {
	return []any{meta.Name, policy, paramRefCell(ref), printers.Since(meta.CreationTimestamp)}
}

func paramKindCell(k *admissionregistrationv1.ParamKind) string {
	if k == nil {
		return printers.Unset
	}
	return k.APIVersion + "/" + k.Kind
}

// paramRefCell shows the parameters of a binding in a table, by name or selector. If a reference by name has no
// namespace, the cell shows "*" as the namespace, because the binding doesn't show whether the kind is namespaced.
func paramRefCell(r *admissionregistrationv1.ParamRef) string {
	switch {
	case r == nil:
		return printers.Unset
	case r.Name != "" && r.Namespace != "":
		return r.Namespace + "/" + r.Name
	case r.Name != "":
		return "*/" + r.Name
	case r.Selector != nil:
		return r.Selector.String()
	}
	return printers.Unset
}
