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

// roleBindingKind is the row of rolebindings in the server's table of kinds.
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

func defaultRoleBinding(b *rbacv1.RoleBinding) {
	defaults.Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	defaultSubjects(b.Subjects)
}

func defaultRoleBindingV1alpha1(b *rbacv1alpha1.RoleBinding) {
	defaults.Zero(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjectsV1alpha1(b.Subjects)
}

func validateRoleBinding(o *rbacv1.RoleBinding) field.ErrorList {
	return bindingSpec(o, validation.Namespaced, "Role", "ClusterRole")
}

func validateRoleBindingUpdate(o, old *rbacv1.RoleBinding) field.ErrorList {
	return append(validateRoleBinding(o), bindingChange(o, old)...)
}

var roleBindingColumns = printers.Of(bindingColumns("roleBinding", printers.Doc(rbacv1beta1.RoleBinding{}, "roleRef")), bindingCells)
