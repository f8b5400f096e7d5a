package printers

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// RoleBinding is shown by its role and, if wide, by who has it.
var RoleBinding = of(
	[]column{
		nameColumn,
		text("Role", doc(rbacv1.RoleBinding{}, "roleRef")),
		ageColumn,
		wide(text("Users", "Users in the roleBinding")),
		wide(text("Groups", "Groups in the roleBinding")),
		wide(text("ServiceAccounts", "ServiceAccounts in the roleBinding")),
	},
	func(b *rbacv1.RoleBinding) []any {
		users, groups, accounts := subjects(b.Subjects)
		return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, since(b.CreationTimestamp), users, groups, accounts}
	})

// ClusterRoleBinding is shown like RoleBinding.
var ClusterRoleBinding = of(
	[]column{
		nameColumn,
		text("Role", doc(rbacv1.ClusterRoleBinding{}, "roleRef")),
		ageColumn,
		wide(text("Users", "Users in the clusterRoleBinding")),
		wide(text("Groups", "Groups in the clusterRoleBinding")),
		wide(text("ServiceAccounts", "ServiceAccounts in the clusterRoleBinding")),
	},
	func(b *rbacv1.ClusterRoleBinding) []any {
		users, groups, accounts := subjects(b.Subjects)
		return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, since(b.CreationTimestamp), users, groups, accounts}
	})

// subjects lists the subjects of each kind.
func subjects(all []rbacv1.Subject) (users, groups, accounts string) {
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
