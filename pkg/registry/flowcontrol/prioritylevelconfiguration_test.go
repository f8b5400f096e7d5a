package flowcontrol

import (
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPriorityLevelConfigurationDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "zero shares in v1beta3",
			Reason:   "the annotation marks a zero that a client has set",
			Manifest: `{apiVersion: flowcontrol.apiserver.k8s.io/v1beta3, kind: PriorityLevelConfiguration, metadata: {annotations: {flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: ""}}, spec: {type: Limited, limited: {nominalConcurrencyShares: 0}}}`,
			Path:     "spec.limited",
			Want:     `{nominalConcurrencyShares: 0, lendablePercent: 0, limitResponse: {type: ""}}`,
		},
	})
}
