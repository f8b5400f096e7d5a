package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// clusterRoleBindingKind is the row of clusterrolebindings in the server's table of kinds. A ClusterRoleBinding has
// the fields of a RoleBinding.
var clusterRoleBindingKind = registry.Kind{
	Resource: "clusterrolebindings",
	Object:   &rbacv1.ClusterRoleBinding{}, List: &rbacv1.ClusterRoleBindingList{},
	Defaults: []registry.Default{
		registry.DefaultLike[rbacv1.ClusterRoleBinding](defaultRoleBinding),
		registry.DefaultLike[rbacv1beta1.ClusterRoleBinding](defaultRoleBinding),
		registry.DefaultLike[rbacv1alpha1.ClusterRoleBinding](defaultRoleBindingV1alpha1),
	},
	CreateOnUpdate: true,
	Storage:        newGuarded,
	Printer:        &clusterRoleBindingColumns,
	Hooks: registry.HooksOf[*rbacv1.ClusterRoleBinding]{
		Validate:       validateClusterRoleBinding,
		ValidateUpdate: validateClusterRoleBindingUpdate,
	},
}

func validateClusterRoleBinding(o *rbacv1.ClusterRoleBinding) field.ErrorList {
	return bindingSpec((*rbacv1.RoleBinding)(o), validation.ClusterScoped, "ClusterRole")
}

func validateClusterRoleBindingUpdate(o, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	return append(validateClusterRoleBinding(o), bindingChange((*rbacv1.RoleBinding)(o), (*rbacv1.RoleBinding)(old))...)
}

var clusterRoleBindingColumns = printers.Of(bindingColumns("clusterRoleBinding", printers.Doc(rbacv1beta1.ClusterRoleBinding{}, "roleRef")),
	func(b *rbacv1.ClusterRoleBinding) []any { return bindingCells((*rbacv1.RoleBinding)(b)) })
