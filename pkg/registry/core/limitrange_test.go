package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestLimitRangeErrors(t *testing.T) {
	t.Parallel()
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "order", Reason: "minimum and default are at most the maximum",
			Object: &corev1.LimitRange{ObjectMeta: registrytest.Stored("l"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, Min: registrytest.Quantities("cpu", "2"),
				Max: registrytest.Quantities("cpu", "1"), Default: registrytest.Quantities("cpu", "3")}}}},
			Want: []string{
				`spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1`,
				`spec.limits[0].default[cpu]: Invalid value: "1": default value 3 is greater than max value 1`,
			},
		},
	})
}

func TestLimitRangeDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "container limits",
			Reason:   "the default limit is the maximum; the default request is the default limit, or else the minimum",
			Manifest: `{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, max: {cpu: 2}, min: {memory: 1Mi}}]}}`,
			Path:     "spec.limits.0",
			Want:     `{type: Container, max: {cpu: "2"}, min: {memory: 1Mi}, default: {cpu: "2"}, defaultRequest: {cpu: "2", memory: 1Mi}}`,
		},
	})
}
