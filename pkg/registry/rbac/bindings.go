package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// bindingSpec checks a RoleBinding or ClusterRoleBinding. The argument "kinds" has the kinds of roles to
// which the binding may refer.
func bindingSpec(b *rbacv1.RoleBinding, s validation.Scope, kinds ...string) field.ErrorList {
	f := validation.Created(&b.ObjectMeta, s, name)
	at := field.NewPath("roleRef")
	f.Merge(validation.OneOf(at.Child("apiGroup"), b.RoleRef.APIGroup, rbacv1.GroupName),
		validation.OneOf(at.Child("kind"), b.RoleRef.Kind, kinds...),
		validation.Required(validation.Named(name), at.Child("name"), b.RoleRef.Name).MarkCoveredByDeclarative(),
		subjects(b.Subjects, s))
	return f.Errs
}

// bindingChange checks an update of a binding: its metadata, and that its role doesn't change.
func bindingChange(b, old *rbacv1.RoleBinding) field.ErrorList {
	f := validation.Updated(&b.ObjectMeta, &old.ObjectMeta)
	f.Merge(validation.Unchanged(field.NewPath("roleRef"), b.RoleRef, old.RoleRef))
	return f.Errs
}

// bindingColumns returns the columns of RoleBindings or ClusterRoleBindings: the role and, with -o wide, the
// subjects.
func bindingColumns(kind, role string) []printers.Column {
	return []printers.Column{
		printers.NameColumn,
		printers.Text("Role", role),
		printers.AgeColumn,
		printers.Wide(printers.Text("Users", "Users in the "+kind)),
		printers.Wide(printers.Text("Groups", "Groups in the "+kind)),
		printers.Wide(printers.Text("ServiceAccounts", "ServiceAccounts in the "+kind)),
	}
}

func bindingCells(b *rbacv1.RoleBinding) []any {
	users, groups, accounts := subjectsCell(b.Subjects)
	return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, printers.Since(b.CreationTimestamp), users, groups, accounts}
}
