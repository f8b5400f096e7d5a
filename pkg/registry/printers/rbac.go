package printers

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// RoleBinding is shown by its role and, if wide, by who has it.
var RoleBinding = Of(
	[]Column{
		NameColumn,
		Text("Role", Doc(rbacv1.RoleBinding{}, "roleRef")),
		AgeColumn,
		Wide(Text("Users", "Users in the roleBinding")),
		Wide(Text("Groups", "Groups in the roleBinding")),
		Wide(Text("ServiceAccounts", "ServiceAccounts in the roleBinding")),
	},
	func(b *rbacv1.RoleBinding) []any {
		users, groups, accounts := subjects(b.Subjects)
		return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, Since(b.CreationTimestamp), users, groups, accounts}
	})

// ClusterRoleBinding is shown like RoleBinding.
var ClusterRoleBinding = Of(
	[]Column{
		NameColumn,
		Text("Role", Doc(rbacv1.ClusterRoleBinding{}, "roleRef")),
		AgeColumn,
		Wide(Text("Users", "Users in the clusterRoleBinding")),
		Wide(Text("Groups", "Groups in the clusterRoleBinding")),
		Wide(Text("ServiceAccounts", "ServiceAccounts in the clusterRoleBinding")),
	},
	func(b *rbacv1.ClusterRoleBinding) []any {
		users, groups, accounts := subjects(b.Subjects)
		return []any{b.Name, b.RoleRef.Kind + "/" + b.RoleRef.Name, Since(b.CreationTimestamp), users, groups, accounts}
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
