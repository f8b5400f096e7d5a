package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// clusterRoleKind is the row of clusterroles in the server's table of kinds.
var clusterRoleKind = registry.Kind{
	Resource: "clusterroles",
	Object:   &rbacv1.ClusterRole{}, List: &rbacv1.ClusterRoleList{},
	CreateOnUpdate: true,
	Storage:        newGuarded,
	Hooks: registry.HooksOf[*rbacv1.ClusterRole]{
		Validate:       validateClusterRole,
		ValidateUpdate: validateClusterRoleUpdate,
	},
}

func validateClusterRole(o *rbacv1.ClusterRole) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, name)
	f.Merge(policyRules(o.Rules, validation.ClusterScoped))
	if o.AggregationRule == nil {
		return f.Errs
	}
	selectors := field.NewPath("aggregationRule", "clusterRoleSelectors")
	f.AddIf(len(o.AggregationRule.ClusterRoleSelectors) == 0,
		field.Required(selectors, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	for i := range o.AggregationRule.ClusterRoleSelectors {
		selector := &o.AggregationRule.ClusterRoleSelectors[i]
		f.Merge(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, selectors.Index(i)))
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			// As in kube-apiserver, the error shows no value.
			f.Add(field.Invalid(selectors.Index(i), nil, "invalid label selector."))
		}
	}
	return f.Errs
}

func validateClusterRoleUpdate(o, old *rbacv1.ClusterRole) field.ErrorList {
	return append(validateClusterRole(o), validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs...)
}
