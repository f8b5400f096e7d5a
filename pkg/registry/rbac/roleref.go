package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

func roleRef(ref *rbacv1.RoleRef, kinds ...string) field.ErrorList {
	at := field.NewPath("roleRef")
	f := validation.Findings{Errs: validation.OneOf(at.Child("apiGroup"), ref.APIGroup, rbacv1.GroupName)}
	f.Merge(validation.OneOf(at.Child("kind"), ref.Kind, kinds...))
	f.Merge(validation.Required(validation.Named(validation.PathSegmentName), at.Child("name"), ref.Name))
	return f.Errs
}

func sameRole(ref, old rbacv1.RoleRef) field.ErrorList {
	if ref == old {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), validation.Unversioned(ref), "cannot change roleRef")}
}
