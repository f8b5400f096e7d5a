package admissionregistration

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// mutatingAdmissionPolicyKind is the row of mutatingadmissionpolicies in the server's table of kinds.
var mutatingAdmissionPolicyKind = registry.Kind{
	Resource:   "mutatingadmissionpolicies",
	Categories: []string{"api-extensions"},
	Object:     &admissionregistrationv1.MutatingAdmissionPolicy{}, List: &admissionregistrationv1.MutatingAdmissionPolicyList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultMutatingAdmissionPolicy),
		registry.DefaultLike[admissionregistrationv1beta1.MutatingAdmissionPolicy](defaultMutatingAdmissionPolicy),
		registry.DefaultLike[admissionregistrationv1alpha1.MutatingAdmissionPolicy](defaultMutatingAdmissionPolicy),
	},
	Generation:        true,
	ConditionalUpdate: true,
	Printer:           &mutatingAdmissionPolicyColumns,
	Hooks: withoutStaticNames(registry.HooksOf[*admissionregistrationv1.MutatingAdmissionPolicy]{
		Validate:       ValidateMutatingAdmissionPolicy,
		ValidateUpdate: validateMutatingAdmissionPolicyUpdate,
		Authorize: readsParams(func(p *admissionregistrationv1.MutatingAdmissionPolicy) *admissionregistrationv1.ParamKind {
			return p.Spec.ParamKind
		}),
	}),
}

func defaultMutatingAdmissionPolicy(p *admissionregistrationv1.MutatingAdmissionPolicy) {
	defaults.Pointer(&p.Spec.FailurePolicy, admissionregistrationv1.Fail)
	defaultMatchResources(p.Spec.MatchConstraints)
}

// ValidateMutatingAdmissionPolicy checks a new policy, and compiles its expressions.
func ValidateMutatingAdmissionPolicy(o *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	return mutatingPolicy(o, storedPolicy{})
}

func validateMutatingAdmissionPolicyUpdate(o, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	stored := storedMatching(o.Spec.ParamKind, old.Spec.ParamKind, o.Spec.MatchConditions, old.Spec.MatchConditions)
	stored.expressions = sets.New[string]()
	for _, m := range old.Spec.Mutations {
		if m.ApplyConfiguration != nil {
			stored.expressions.Insert(strings.TrimSpace(m.ApplyConfiguration.Expression))
		}
		if m.JSONPatch != nil {
			stored.expressions.Insert(strings.TrimSpace(m.JSONPatch.Expression))
		}
	}
	return mutatingPolicy(o, stored)
}

func mutatingPolicy(o *admissionregistrationv1.MutatingAdmissionPolicy, stored storedPolicy) field.ErrorList {
	f := validation.Findings{Errs: apivalidation.ValidateObjectMeta(&o.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, validation.MetadataPath)}
	spec := field.NewPath("spec")
	s := &o.Spec
	f.Merge(
		policyMatching(s.FailurePolicy, s.ParamKind, s.MatchConstraints, spec),
		mutatedOperations(s.MatchConstraints, spec.Child("matchConstraints")),
		policyConditions(s.MatchConditions, s.ParamKind != nil, stored, spec))

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
	f.Merge(validation.RequiredOneOf(spec.Child("reinvocationPolicy"), s.ReinvocationPolicy, reinvocationPolicies...))
	return f.Errs
}

// policyMutation checks that a mutation sets the field that its patchType names, and no other. It also compiles the
// expression in the field.
func policyMutation(compiler plugincel.Compiler, m *admissionregistrationv1.Mutation,
	uses plugincel.OptionalVariableDeclarations, stored storedPolicy, path *field.Path) field.ErrorList {
	var apply, json string
	if m.ApplyConfiguration != nil {
		apply = strings.TrimSpace(m.ApplyConfiguration.Expression)
	}
	if m.JSONPatch != nil {
		json = strings.TrimSpace(m.JSONPatch.Expression)
	}
	configuration := mutationMember{"applyConfiguration", m.ApplyConfiguration != nil, apply, &patch.ApplyConfigurationCondition{Expression: apply}}
	jsonPatch := mutationMember{"jsonPatch", m.JSONPatch != nil, json, &patch.JSONPatchCondition{Expression: json}}
	var member, other mutationMember
	switch m.PatchType {
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		member, other = configuration, jsonPatch
	case admissionregistrationv1.PatchTypeJSONPatch:
		member, other = jsonPatch, configuration
	default:
		return validation.RequiredOneOf(path.Child("patchType"), m.PatchType,
			admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch)
	}
	var f validation.Findings
	switch at := path.Child(member.name); {
	case !member.set:
		f.Add(field.Required(at, "must be specified when patchType is "+string(m.PatchType)))
	case member.text == "":
		f.Add(field.Required(at.Child("expression"), ""))
	default:
		e := validation.Expression{ExpressionAccessor: member.accessor, Uses: uses, Stored: stored.expressions, Written: member.text}
		f.Merge(e.Check(compiler, at.Child("expression")))
	}
	f.AddIf(other.set, field.Invalid(path.Child(other.name), "{"+other.name+"}", "must not be specified when patchType is "+string(m.PatchType)))
	return f.Errs
}

// mutationMember is a field of a mutation that has an expression. text is the expression without space around it.
type mutationMember struct {
	name     string
	set      bool
	text     string
	accessor plugincel.ExpressionAccessor
}

var mutatingAdmissionPolicyColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Number("Mutations", "Mutation indicates the number of mutations rules defined in this configuration"),
		paramKindColumn,
		printers.AgeColumn,
	},
	func(p *admissionregistrationv1.MutatingAdmissionPolicy) []any {
		return []any{p.Name, int64(len(p.Spec.Mutations)), paramKindCell(p.Spec.ParamKind), printers.Since(p.CreationTimestamp)}
	})
