package registry

import (
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
)

// rbac is who may do what.
var rbac = Group{
	Name: "rbac.authorization.k8s.io",
	Versions: []Version{
		{Name: "v1", AddToScheme: rbacv1.AddToScheme},
		{Name: "v1beta1", AddToScheme: rbacv1beta1.AddToScheme, Legacy: true},
	},
	Kinds: []Kind{
		{
			Resource:   "roles",
			Namespaced: true,
			Object:     &rbacv1.Role{}, List: &rbacv1.RoleList{},
			CreateOnUpdate: true,
			Storage:        newGuarded,
		},
		{
			Resource:   "rolebindings",
			Namespaced: true,
			Object:     &rbacv1.RoleBinding{}, List: &rbacv1.RoleBindingList{},
			CreateOnUpdate: true,
			Storage:        newGuarded,
		},
		{
			Resource: "clusterroles",
			Object:   &rbacv1.ClusterRole{}, List: &rbacv1.ClusterRoleList{},
			CreateOnUpdate: true,
			Storage:        newGuarded,
		},
		{
			Resource: "clusterrolebindings",
			Object:   &rbacv1.ClusterRoleBinding{}, List: &rbacv1.ClusterRoleBindingList{},
			CreateOnUpdate: true,
			Storage:        newGuarded,
		},
	},
}
