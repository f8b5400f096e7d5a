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
					"pods": resource.MustParse("10"), "limits.cpu": resource.MustParse("4"),
					"limits": resource.MustParse("1"), "limits.memory": resource.MustParse("2Gi"), "cpu": resource.MustParse("1"),
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
		{
			Name: "conflicting scopes in the selector", Reason: "as in kube-apiserver, the error shows the field scopes",
			Object: &corev1.ResourceQuota{ObjectMeta: registrytest.Stored("q"), Spec: corev1.ResourceQuotaSpec{
				Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopePriorityClass},
				ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
					{ScopeName: corev1.ResourceQuotaScopeTerminating, Operator: corev1.ScopeSelectorOpExists},
					{ScopeName: corev1.ResourceQuotaScopeNotTerminating, Operator: corev1.ScopeSelectorOpExists},
				}}}},
			Want: []string{`spec.scopeSelector.matchExpressions: Invalid value: ["PriorityClass"]: conflicting scopes`},
		},
		{
			Name: "update", Reason: "an update checks the spec once, and doesn't check the stored status",
			Object: &corev1.ResourceQuota{ObjectMeta: registrytest.Stored("q"),
				Spec:   corev1.ResourceQuotaSpec{Hard: registrytest.Quantities("bananas", "1")},
				Status: corev1.ResourceQuotaStatus{Hard: registrytest.Quantities("pears", "1")}},
			Old: &corev1.ResourceQuota{ObjectMeta: registrytest.Stored("q")},
			Want: []string{
				`spec.hard[bananas]: Invalid value: "bananas": must be a standard resource type or fully qualified`,
				`spec.hard[bananas]: Invalid value: "bananas": must be a standard resource for quota`,
			},
		},
	})
}

func TestResourceQuotaWarnings(t *testing.T) {
	t.Parallel()
	registrytest.CheckWarnings(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name:   "requests above limits",
			Reason: "cpu is another name of requests.cpu, but storage isn't another name of requests.storage",
			Object: &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: registrytest.Quantities(
				"requests.cpu", "2", "cpu", "3", "limits.cpu", "1", "memory", "2Gi", "limits.memory", "1Gi",
				"storage", "2", "limits.storage", "1", "requests.ephemeral-storage", "1", "limits.ephemeral-storage", "1")}},
			Want: []string{
				"ResourceQuota requests.cpu (2) should be less than limits.cpu (1)",
				"ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)",
			},
		},
		{
			Name: "update", Reason: "only the creation of a quota causes the warning",
			Object: &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: registrytest.Quantities("cpu", "2", "limits.cpu", "1")}},
			Old:    &corev1.ResourceQuota{},
		},
	})
}
