package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// roleKind is the row of roles in the server's table of kinds.
var roleKind = registry.Kind{
	Resource:   "roles",
	Namespaced: true,
	Object:     &rbacv1.Role{}, List: &rbacv1.RoleList{},
	CreateOnUpdate: true,
	Storage:        newGuarded,
	Hooks: registry.HooksOf[*rbacv1.Role]{
		Validate:       validateRole,
		ValidateUpdate: validateRoleUpdate,
	},
}

// validateRole checks a new role. Its name need not be a DNS name.
func validateRole(o *rbacv1.Role) field.ErrorList {
	f := validation.Created(&o.ObjectMeta, validation.Namespaced, name)
	f.Merge(policyRules(o.Rules, validation.Namespaced))
	return f.Errs
}

func validateRoleUpdate(o, old *rbacv1.Role) field.ErrorList {
	return append(validateRole(o), validation.Updated(&o.ObjectMeta, &old.ObjectMeta).Errs...)
}
