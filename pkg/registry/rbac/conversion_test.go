package rbac

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group), []registrytest.ConversionCase{
		{
			Name:     "user *",
			Reason:   "only v1alpha1 has the user * for all authenticated users",
			Manifest: `{apiVersion: rbac.authorization.k8s.io/v1alpha1, kind: RoleBinding, subjects: [{kind: User, name: "*"}, {kind: Thing, name: t, apiVersion: example.com/v1}], roleRef: {}}`,
			To:       &rbacv1.RoleBinding{},
			Path:     "subjects",
			Want:     `[{kind: Group, name: "system:authenticated", apiGroup: rbac.authorization.k8s.io}, {kind: Thing, name: t, apiGroup: example.com}]`,
		},
	})
}
