package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/defaults"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// roleBindingKind is the row of rolebindings.
var roleBindingKind = registry.Kind{
	Resource:   "rolebindings",
	Namespaced: true,
	Object:     &rbacv1.RoleBinding{}, List: &rbacv1.RoleBindingList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultRoleBinding),
		registry.DefaultLike[rbacv1beta1.RoleBinding](defaultRoleBinding),
		registry.DefaultOf(defaultRoleBindingV1alpha1),
	},
	CreateOnUpdate: true,
	Storage:        newGuarded,
	Printer:        &roleBindingColumns,
	Hooks: registry.HooksOf[*rbacv1.RoleBinding]{
		Validate:       validateRoleBinding,
		ValidateUpdate: validateRoleBindingUpdate,
	},
}

// defaultRoleBinding sets the defaults of a RoleBinding.
func defaultRoleBinding(b *rbacv1.RoleBinding) {
	defaults.Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	defaultSubjects(b.Subjects)
}

// defaultRoleBindingV1alpha1 sets the defaults of an
// rbac.authorization.k8s.io/v1alpha1 RoleBinding.
func defaultRoleBindingV1alpha1(b *rbacv1alpha1.RoleBinding) {
	defaults.Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjectsV1alpha1(b.Subjects)
}

// validateRoleBinding checks a new role binding.
func validateRoleBinding(o *rbacv1.RoleBinding) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, validation.PathSegmentName)
	f.Merge(roleRef(&o.RoleRef, "Role", "ClusterRole"), rbacSubjects(o.Subjects, validation.Namespaced))
	return f.Errs
}

// validateRoleBindingUpdate checks a role binding that replaces another.
func validateRoleBindingUpdate(o, old *rbacv1.RoleBinding) field.ErrorList {
	f := validation.Findings{Errs: validateRoleBinding(o)}
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, sameRole(o.RoleRef, old.RoleRef))
	return f.Errs
}

// roleBindingColumns shows the role and, if wide, the subjects.
var roleBindingColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Role", printers.Doc(rbacv1.RoleBinding{}, "roleRef")),
		printers.AgeColumn,
		printers.Wide(printers.Text("Users", "Users in the roleBinding")),
		printers.Wide(printers.Text("Groups", "Groups in the roleBinding")),
		printers.Wide(printers.Text("ServiceAccounts", "ServiceAccounts in the roleBinding")),
	},
	func(b *rbacv1.RoleBinding) []any {
		users, groups, accounts := subjectsCell(b.Subjects)
		return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, printers.Since(b.CreationTimestamp), users, groups, accounts}
	})
