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

// clusterRoleBindingKind is the row of clusterrolebindings.
var clusterRoleBindingKind = registry.Kind{
	Resource: "clusterrolebindings",
	Object:   &rbacv1.ClusterRoleBinding{}, List: &rbacv1.ClusterRoleBindingList{},
	Defaults: []registry.Default{
		registry.DefaultOf(defaultClusterRoleBinding),
		registry.DefaultLike[rbacv1beta1.ClusterRoleBinding](defaultClusterRoleBinding),
		registry.DefaultOf(defaultClusterRoleBindingV1alpha1),
	},
	CreateOnUpdate: true,
	Storage:        newGuarded,
	Printer:        &clusterRoleBindingColumns,
	Hooks: registry.HooksOf[*rbacv1.ClusterRoleBinding]{
		Validate:       validateClusterRoleBinding,
		ValidateUpdate: validateClusterRoleBindingUpdate,
	},
}

// defaultClusterRoleBinding sets the defaults of a ClusterRoleBinding.
func defaultClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	defaults.Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	defaultSubjects(b.Subjects)
}

// defaultClusterRoleBindingV1alpha1 sets the defaults of an
// rbac.authorization.k8s.io/v1alpha1 ClusterRoleBinding.
func defaultClusterRoleBindingV1alpha1(b *rbacv1alpha1.ClusterRoleBinding) {
	defaults.Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjectsV1alpha1(b.Subjects)
}

// validateClusterRoleBinding checks a new cluster role binding.
func validateClusterRoleBinding(o *rbacv1.ClusterRoleBinding) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.ClusterScoped, validation.PathSegmentName)
	f.Merge(roleRef(&o.RoleRef, "ClusterRole"), rbacSubjects(o.Subjects, validation.ClusterScoped))
	return f.Errs
}

// validateClusterRoleBindingUpdate checks a cluster role binding that replaces another.
func validateClusterRoleBindingUpdate(o, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	f := validation.Findings{Errs: validateClusterRoleBinding(o)}
	f.Merge(validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs, sameRole(o.RoleRef, old.RoleRef))
	return f.Errs
}

// clusterRoleBindingColumns shows the same as roleBindingColumns.
var clusterRoleBindingColumns = printers.Of(
	[]printers.Column{
		printers.NameColumn,
		printers.Text("Role", printers.Doc(rbacv1.ClusterRoleBinding{}, "roleRef")),
		printers.AgeColumn,
		printers.Wide(printers.Text("Users", "Users in the clusterRoleBinding")),
		printers.Wide(printers.Text("Groups", "Groups in the clusterRoleBinding")),
		printers.Wide(printers.Text("ServiceAccounts", "ServiceAccounts in the clusterRoleBinding")),
	},
	func(b *rbacv1.ClusterRoleBinding) []any {
		users, groups, accounts := subjectsCell(b.Subjects)
		return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, printers.Since(b.CreationTimestamp), users, groups, accounts}
	})
