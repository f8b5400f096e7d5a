package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// name is the rule for the names of roles and bindings, which need not be DNS names. A prefix of generated names follows it,
// too.
func name(name string, _ bool) []string { return content.IsPathSegmentName(name) }

func policyRules(rules []rbacv1.PolicyRule, s validation.Scope) field.ErrorList {
	var f validation.Findings
	for i, r := range rules {
		path := field.NewPath("rules").Index(i)
		if len(r.NonResourceURLs) > 0 {
			urls := path.Child("nonResourceURLs")
			f.AddIf(s == validation.Namespaced, field.Invalid(urls, r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			f.AddIf(len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0, field.Invalid(urls, r.NonResourceURLs,
				"rules cannot apply to both regular resources and non-resource URLs"))
			continue
		}
		f.AddIf(len(r.APIGroups) == 0, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
		f.AddIf(len(r.Resources) == 0, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	return f.Errs
}
