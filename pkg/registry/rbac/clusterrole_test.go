package rbac

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestClusterRole(t *testing.T) {
	t.Parallel()
	role := &rbacv1.ClusterRole{ObjectMeta: registrytest.ClusterStored("r"), AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}},
	}}}
	registrytest.WantErrors(t, "each selector of an aggregation is valid", validateClusterRole(role),
		`aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
		"aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.")
}
