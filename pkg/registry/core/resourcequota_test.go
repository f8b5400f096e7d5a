package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestResourceQuotaColumns(t *testing.T) {
	t.Parallel()
	registrytest.CheckColumns(t, registrytest.Table(t, Group), []registrytest.ColumnsCase{
		{
			Name: "requests and limits", Reason: "limits have a column of their own, and both columns are sorted by resource",
			Object: &corev1.ResourceQuota{ObjectMeta: registrytest.MonthOld("x"), Status: corev1.ResourceQuotaStatus{
				Hard: corev1.ResourceList{
					"pods": resource.MustParse("10"), "limits.cpu": resource.MustParse("4"), "limits": resource.MustParse("1"), "limits.memory": resource.MustParse("2Gi"), "cpu": resource.MustParse("1"),
				},
				Used: corev1.ResourceList{"pods": resource.MustParse("3"), "limits.cpu": resource.MustParse("1500m")},
			}},
			Want: []any{"x", "cpu: 0/1, limits: 0/1, pods: 3/10", "limits.cpu: 1500m/4, limits.memory: 0/2Gi", "30d"},
		},
	})
}

func TestResourceQuotaErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "scope", Reason: "the scope BestEffort applies to pods only, and resources are standard or have a domain",
			Object: &corev1.ResourceQuota{ObjectMeta: registrytest.Stored("q"), Spec: corev1.ResourceQuotaSpec{
				Hard:   registrytest.Quantities("services", "1", "bananas", "1"),
				Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}}},
			Want: []string{
				`spec.hard[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified`,
				`spec.hard[bananas]: Invalid value: "bananas": must be a standard resource for quota`,
				`spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource`,
			},
		},
	})
}
