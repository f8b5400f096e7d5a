package validation

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Role checks a new role. Its name need not be a DNS name.
func Role(o *rbacv1.Role) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, PathSegmentName)
	f.Merge(policyRules(o.Rules, Namespaced))
	return f.Errs
}

// RoleUpdate checks a role that replaces another.
func RoleUpdate(o, old *rbacv1.Role) field.ErrorList {
	return append(Role(o), Updated(&o.ObjectMeta, &old.ObjectMeta).Errs...)
}

// ClusterRole checks a new cluster role.
func ClusterRole(o *rbacv1.ClusterRole) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, PathSegmentName)
	f.Merge(policyRules(o.Rules, ClusterScoped))
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
			f.Add(field.Invalid(selectors.Index(i), selector, "invalid label selector."))
		}
	}
	return f.Errs
}

// ClusterRoleUpdate checks a cluster role that replaces another.
func ClusterRoleUpdate(o, old *rbacv1.ClusterRole) field.ErrorList {
	return append(ClusterRole(o), Updated(&o.ObjectMeta, &old.ObjectMeta).Errs...)
}

// RoleBinding checks a new role binding.
func RoleBinding(o *rbacv1.RoleBinding) field.ErrorList {
	f := Created(&o.ObjectMeta, Namespaced, PathSegmentName)
	f.Merge(roleRef(&o.RoleRef, "Role", "ClusterRole"), rbacSubjects(o.Subjects, Namespaced))
	return f.Errs
}

// RoleBindingUpdate checks a role binding that replaces another.
func RoleBindingUpdate(o, old *rbacv1.RoleBinding) field.ErrorList {
	f := Findings{RoleBinding(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, sameRole(o.RoleRef, old.RoleRef))
	return f.Errs
}

// ClusterRoleBinding checks a new cluster role binding.
func ClusterRoleBinding(o *rbacv1.ClusterRoleBinding) field.ErrorList {
	f := Created(&o.ObjectMeta, ClusterScoped, PathSegmentName)
	f.Merge(roleRef(&o.RoleRef, "ClusterRole"), rbacSubjects(o.Subjects, ClusterScoped))
	return f.Errs
}

// ClusterRoleBindingUpdate checks a cluster role binding that replaces another.
func ClusterRoleBindingUpdate(o, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	f := Findings{ClusterRoleBinding(o)}
	f.Merge(Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, sameRole(o.RoleRef, old.RoleRef))
	return f.Errs
}

func policyRules(rules []rbacv1.PolicyRule, s Scope) field.ErrorList {
	var f Findings
	for i, r := range rules {
		path := field.NewPath("rules").Index(i)
		f.AddIf(len(r.Verbs) == 0, field.Required(path.Child("verbs"), "verbs must contain at least one value"))
		if len(r.NonResourceURLs) > 0 {
			urls := path.Child("nonResourceURLs")
			f.AddIf(s == Namespaced, field.Invalid(urls, r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			f.AddIf(len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0, field.Invalid(urls, r.NonResourceURLs,
				"rules cannot apply to both regular resources and non-resource URLs"))
			continue
		}
		f.AddIf(len(r.APIGroups) == 0, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
		f.AddIf(len(r.Resources) == 0, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	return f.Errs
}

func roleRef(ref *rbacv1.RoleRef, kinds ...string) field.ErrorList {
	at := field.NewPath("roleRef")
	f := Findings{OneOf(at.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)}
	f.Merge(OneOf(at.Child("kind"), ref.Kind, kinds...))
	f.Merge(Required(Named(PathSegmentName), at.Child("name"), ref.Name))
	return f.Errs
}

func sameRole(ref, old rbacv1.RoleRef) field.ErrorList {
	if ref == old {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), Unversioned(ref), "cannot change roleRef")}
}

func rbacSubjects(subjects []rbacv1.Subject, s Scope) field.ErrorList {
	var f Findings
	for i, subject := range subjects {
		path := field.NewPath("subjects").Index(i)
		f.AddIf(subject.Name == "", field.Required(path.Child("name"), ""))
		switch subject.Kind {
		case rbacv1.ServiceAccountKind:
			if subject.Name != "" {
				f.Merge(Follows(Named(apivalidation.ValidateServiceAccountName), path.Child("name"), subject.Name))
			}
			f.Merge(OneOf(path.Child("apiGroup"), subject.APIGroup, ""))
			f.AddIf(s == ClusterScoped && subject.Namespace == "", field.Required(path.Child("namespace"), ""))
		case rbacv1.UserKind, rbacv1.GroupKind:
			f.Merge(OneOf(path.Child("apiGroup"), subject.APIGroup, rbacv1.GroupName))
		default:
			f.Merge(OneOf(path.Child("kind"), subject.Kind, rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind))
		}
	}
	return f.Errs
}
