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
	f := created(&o.ObjectMeta, namespaced, pathSegmentName)
	f.merge(policyRules(o.Rules, namespaced))
	return f.errs
}

// RoleUpdate checks a role that replaces another.
func RoleUpdate(o, old *rbacv1.Role) field.ErrorList {
	return append(Role(o), updated(&o.ObjectMeta, &old.ObjectMeta).errs...)
}

// ClusterRole checks a new cluster role.
func ClusterRole(o *rbacv1.ClusterRole) field.ErrorList {
	f := created(&o.ObjectMeta, clusterScoped, pathSegmentName)
	f.merge(policyRules(o.Rules, clusterScoped))
	if o.AggregationRule == nil {
		return f.errs
	}
	selectors := field.NewPath("aggregationRule", "clusterRoleSelectors")
	f.addIf(len(o.AggregationRule.ClusterRoleSelectors) == 0,
		field.Required(selectors, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	for i := range o.AggregationRule.ClusterRoleSelectors {
		selector := &o.AggregationRule.ClusterRoleSelectors[i]
		f.merge(metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, selectors.Index(i)))
		if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
			f.add(field.Invalid(selectors.Index(i), selector, "invalid label selector."))
		}
	}
	return f.errs
}

// ClusterRoleUpdate checks a cluster role that replaces another.
func ClusterRoleUpdate(o, old *rbacv1.ClusterRole) field.ErrorList {
	return append(ClusterRole(o), updated(&o.ObjectMeta, &old.ObjectMeta).errs...)
}

// RoleBinding checks a new role binding.
func RoleBinding(o *rbacv1.RoleBinding) field.ErrorList {
	f := created(&o.ObjectMeta, namespaced, pathSegmentName)
	f.merge(roleRef(&o.RoleRef, "Role", "ClusterRole"), rbacSubjects(o.Subjects, namespaced))
	return f.errs
}

// RoleBindingUpdate checks a role binding that replaces another.
func RoleBindingUpdate(o, old *rbacv1.RoleBinding) field.ErrorList {
	f := findings{RoleBinding(o)}
	f.merge(updated(&o.ObjectMeta, &old.ObjectMeta).errs, sameRole(o.RoleRef, old.RoleRef))
	return f.errs
}

// ClusterRoleBinding checks a new cluster role binding.
func ClusterRoleBinding(o *rbacv1.ClusterRoleBinding) field.ErrorList {
	f := created(&o.ObjectMeta, clusterScoped, pathSegmentName)
	f.merge(roleRef(&o.RoleRef, "ClusterRole"), rbacSubjects(o.Subjects, clusterScoped))
	return f.errs
}

// ClusterRoleBindingUpdate checks a cluster role binding that replaces another.
func ClusterRoleBindingUpdate(o, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	f := findings{ClusterRoleBinding(o)}
	f.merge(updated(&o.ObjectMeta, &old.ObjectMeta).errs, sameRole(o.RoleRef, old.RoleRef))
	return f.errs
}

func policyRules(rules []rbacv1.PolicyRule, s scope) field.ErrorList {
	var f findings
	for i, r := range rules {
		path := field.NewPath("rules").Index(i)
		f.addIf(len(r.Verbs) == 0, field.Required(path.Child("verbs"), "verbs must contain at least one value"))
		if len(r.NonResourceURLs) > 0 {
			urls := path.Child("nonResourceURLs")
			f.addIf(s == namespaced, field.Invalid(urls, r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			f.addIf(len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0, field.Invalid(urls, r.NonResourceURLs,
				"rules cannot apply to both regular resources and non-resource URLs"))
			continue
		}
		f.addIf(len(r.APIGroups) == 0, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
		f.addIf(len(r.Resources) == 0, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	return f.errs
}

func roleRef(ref *rbacv1.RoleRef, kinds ...string) field.ErrorList {
	at := field.NewPath("roleRef")
	f := findings{oneOf(at.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)}
	f.merge(oneOf(at.Child("kind"), ref.Kind, kinds...))
	f.merge(required(named(pathSegmentName), at.Child("name"), ref.Name))
	return f.errs
}

func sameRole(ref, old rbacv1.RoleRef) field.ErrorList {
	if ref == old {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), unversioned(ref), "cannot change roleRef")}
}

func rbacSubjects(subjects []rbacv1.Subject, s scope) field.ErrorList {
	var f findings
	for i, subject := range subjects {
		path := field.NewPath("subjects").Index(i)
		f.addIf(subject.Name == "", field.Required(path.Child("name"), ""))
		switch subject.Kind {
		case rbacv1.ServiceAccountKind:
			if subject.Name != "" {
				f.merge(follows(named(apivalidation.ValidateServiceAccountName), path.Child("name"), subject.Name))
			}
			f.merge(oneOf(path.Child("apiGroup"), subject.APIGroup, ""))
			f.addIf(s == clusterScoped && subject.Namespace == "", field.Required(path.Child("namespace"), ""))
		case rbacv1.UserKind, rbacv1.GroupKind:
			f.merge(oneOf(path.Child("apiGroup"), subject.APIGroup, rbacv1.GroupName))
		default:
			f.merge(oneOf(path.Child("kind"), subject.Kind, rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind))
		}
	}
	return f.errs
}
