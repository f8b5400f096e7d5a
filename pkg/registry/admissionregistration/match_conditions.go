package admissionregistration

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// maxMatchConditions is the largest number of matchConditions in a webhook or a policy.
const maxMatchConditions = 64

// matchConditions checks the matchConditions of a webhook or a policy (KEP-3716).
func matchConditions(conditions []admissionregistrationv1.MatchCondition, params bool, stored sets.Set[string], path *field.Path) field.ErrorList {
	var f validation.Findings
	f.Merge(validation.Few(path, len(conditions), maxMatchConditions))
	names := sets.New[string]()
	for i, c := range conditions {
		path := path.Index(i)
		if text := strings.TrimSpace(c.Expression); text == "" {
			f.Add(field.Required(path.Child("expression"), ""))
		} else {
			e := validation.Expression{
				ExpressionAccessor: &matchconditions.MatchCondition{Expression: text},
				Uses:               plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true},
				Stored:             stored, Written: text,
			}
			f.Merge(e.Check(plainCompiler(), path.Child("expression")))
		}
		if c.Name == "" {
			f.Add(field.Required(path.Child("name"), ""))
			continue
		}
		f.Merge(validation.Qualified(path.Child("name"), c.Name))
		f.AddIf(names.Has(c.Name), field.Duplicate(path.Child("name"), c.Name))
		names.Insert(c.Name)
	}
	return f.Errs
}
