package flowcontrol

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group), []registrytest.ConversionCase{
		{
			Name:     "assured shares",
			Reason:   "v1beta3 renamed assured shares to nominal shares",
			Manifest: `{apiVersion: flowcontrol.apiserver.k8s.io/v1beta2, kind: PriorityLevelConfiguration, spec: {type: Limited, limited: {assuredConcurrencyShares: 5}}}`,
			To:       &flowcontrolv1.PriorityLevelConfiguration{},
			Path:     "spec.limited.nominalConcurrencyShares",
			Want:     `5`,
		},
		{
			Name:     "zero shares",
			Reason:   "an annotation of v1beta3 marks a zero that a client has set",
			Manifest: `{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, spec: {type: Limited, limited: {nominalConcurrencyShares: 0}}}`,
			To:       &flowcontrolv1beta3.PriorityLevelConfiguration{},
			Path:     "metadata.annotations",
			Want:     `{flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares: ""}`,
		},
	})
}
