// Package rbac has the kinds of API group rbac.authorization.k8s.io, which grant permissions.
package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	declarativev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/rbac/v1"
)

// Group is the API group rbac.authorization.k8s.io. Its kinds grant permissions.
var Group = registry.Group{
	Name: "rbac.authorization.k8s.io",
	Versions: []registry.Version{
		{Name: "v1", AddToScheme: rbacv1.AddToScheme, AddValidations: declarativev1.RegisterValidations},
		{Name: "v1beta1", AddToScheme: rbacv1beta1.AddToScheme, OnDemand: true, Priority: 12},
		{Name: "v1alpha1", AddToScheme: rbacv1alpha1.AddToScheme, OnDemand: true, Removed: true},
	},
	Priority:    17000,
	Conversions: conversions(),
	Kinds: []registry.Kind{
		roleKind,
		roleBindingKind,
		clusterRoleKind,
		clusterRoleBindingKind,
	},
}
