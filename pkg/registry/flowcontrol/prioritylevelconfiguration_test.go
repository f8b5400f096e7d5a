package flowcontrol

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPriorityLevelConfigurationErrors(t *testing.T) {
	t.Parallel()
	reject := &flowcontrolv1.LimitedPriorityLevelConfiguration{LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}}
	registrytest.CheckErrors(t, registrytest.Table(t, Group), []registrytest.WriteCase{
		{
			Name: "annotation of v1beta3", Reason: "v1 distinguishes 0 from a missing value, so it needs no annotation",
			Object: &flowcontrolv1.PriorityLevelConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: "p",
					Annotations: map[string]string{"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": ""}},
				Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited,
					Limited: reject},
			},
			Want: []string{"metadata.annotations: Forbidden: annotation 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is forbidden"},
		},
		{
			Name: "exempt", Reason: "only the level exempt is exempt, and a condition has a type",
			Object: &flowcontrolv1.PriorityLevelConfiguration{
				ObjectMeta: registrytest.ClusterStored("p"),
				Spec:       flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementExempt},
				Status:     flowcontrolv1.PriorityLevelConfigurationStatus{Conditions: []flowcontrolv1.PriorityLevelConfigurationCondition{{}}},
			},
			Want: []string{
				"spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
				"status.conditions[0].type: Required value",
			},
		},
	})
}

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
