package rbac

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// defaultSubjects sets the API groups of subjects. Users and groups belong to rbac.authorization.k8s.io, and
// service accounts to the core group.
func defaultSubjects(list []rbacv1.Subject) {
	for i := range list {
		if s := &list[i]; s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind {
			defaults.Zero(&s.APIGroup, rbacv1.GroupName)
		}
	}
}

// subjectsV1alpha1 sets the defaults of subjects in v1alpha1, which have an apiVersion.
func subjectsV1alpha1(list []rbacv1alpha1.Subject) {
	for i := range list {
		switch s := &list[i]; s.Kind {
		case rbacv1.ServiceAccountKind:
			defaults.Zero(&s.APIVersion, corev1.SchemeGroupVersion.String())
		case rbacv1.UserKind, rbacv1.GroupKind:
			defaults.Zero(&s.APIVersion, rbacv1alpha1.SchemeGroupVersion.String())
		}
	}
}

// subjects checks the subjects of a binding.
func subjects(list []rbacv1.Subject, s validation.Scope) field.ErrorList {
	var f validation.Findings
	for i, subject := range list {
		path := field.NewPath("subjects").Index(i)
		switch subject.Kind {
		case rbacv1.ServiceAccountKind:
			if subject.Name != "" {
				f.Merge(validation.Follows(validation.Named(apivalidation.ValidateServiceAccountName), path.Child("name"), subject.Name))
			}
			f.Merge(validation.OneOf(path.Child("apiGroup"), subject.APIGroup, ""))
			f.AddIf(s == validation.ClusterScoped && subject.Namespace == "", field.Required(path.Child("namespace"), ""))
		case rbacv1.UserKind, rbacv1.GroupKind:
			f.Merge(validation.OneOf(path.Child("apiGroup"), subject.APIGroup, rbacv1.GroupName))
		default:
			f.Merge(validation.OneOf(path.Child("kind"), subject.Kind, rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind))
		}
	}
	return f.Errs
}

// subjectsCell lists the names of the subjects, by kind.
func subjectsCell(all []rbacv1.Subject) (users, groups, accounts string) {
	byKind := map[string][]string{}
	for _, s := range all {
		name := s.Name
		if s.Kind == rbacv1.ServiceAccountKind {
			name = s.Namespace + "/" + s.Name
		}
		byKind[s.Kind] = append(byKind[s.Kind], name)
	}
	list := func(kind string) string { return strings.Join(byKind[kind], ", ") }
	return list(rbacv1.UserKind), list(rbacv1.GroupKind), list(rbacv1.ServiceAccountKind)
}
