package policy

import (
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestPodDisruptionBudgetDefaults(t *testing.T) {
	t.Parallel()
	registrytest.CheckDefaults(t, registrytest.Table(t, Group), []registrytest.DefaultsCase{
		{
			Name:     "label of v1beta1",
			Reason:   "the label of an empty selector in v1beta1 is removed from a selector that is not empty",
			Manifest: `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {selector: {matchLabels: {a: b}, matchExpressions: [{key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: Exists}]}}}`,
			Path:     "spec.selector",
			Want:     `{matchLabels: {a: b}}`,
		},
	})
}
