package rbac

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestRoleBindingColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "users and an account", Reason: "each kind of subject has a column, and service accounts are shown with their namespace",
			Object: &rbacv1.RoleBinding{
				ObjectMeta: registrytest.MonthOld("x"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"},
				Subjects: []rbacv1.Subject{
					{Kind: "User", Name: "u"}, {Kind: "ServiceAccount", Namespace: "ns", Name: "s"}, {Kind: "User", Name: "v"},
				},
			},
			Want: []any{"x", "Role/r", "30d", "u, v", "", "ns/s"},
		},
	})
}

func TestRoleBindingDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "subjects",
			Reason:   "a user is of the group rbac.authorization.k8s.io, and a service account of the core group",
			Manifest: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}]}`,
			Path:     "subjects",
			Want:     `[{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}, {kind: ServiceAccount, name: s}]`,
		},
	})
}
