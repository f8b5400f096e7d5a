package rbac

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestClusterRoleBindingErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "update", Reason: "the binding refers to a cluster role, keeps the reference, and names the namespaces of accounts",
			Object: &rbacv1.ClusterRoleBinding{ObjectMeta: registrytest.ClusterStored("b"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "a"}}},
			Old: &rbacv1.ClusterRoleBinding{ObjectMeta: registrytest.ClusterStored("b"),
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"}},
			Want: []string{
				`roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`,
				"subjects[0].namespace: Required value",
				`roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"r"}: field is immutable`,
			},
		},
	})
}
