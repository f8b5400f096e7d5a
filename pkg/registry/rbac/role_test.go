package rbac

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestRoleErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "rules", Reason: "a rule has verbs and resources, and a role can't name URLs",
			Object: &rbacv1.Role{ObjectMeta: registrytest.Stored("r"), Rules: []rbacv1.PolicyRule{
				{NonResourceURLs: []string{"/healthz"}}, {Verbs: []string{"get"}}}},
			Want: []string{
				`rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs`,
				"rules[1].apiGroups: Required value: resource rules must supply at least one api group",
				"rules[1].resources: Required value: resource rules must supply at least one resource",
				"rules[0].verbs: Required value",
			},
		},
		{
			Name: "prefix of dots", Reason: "a prefix follows the rule for names, although the suffix would make a valid name",
			Object: &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "..x", GenerateName: ".."}},
			Want:   []string{"metadata.generateName: Invalid value: \"..\": may not be '..'"},
		},
	})
}
