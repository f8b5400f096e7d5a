package policy

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"

	"github.com/miniapi-dev/miniapi/pkg/registry/registrytest"
)

func TestConversions(t *testing.T) {
	t.Parallel()
	registrytest.CheckConversions(t, registrytest.Table(t, Group), []registrytest.ConversionCase{
		{
			Name:     "empty selector in v1beta1",
			Reason:   "an empty selector selects no pods in v1beta1",
			Manifest: `{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, spec: {selector: {}}}`,
			To:       &policyv1.PodDisruptionBudget{},
			Path:     "spec.selector",
			Want:     `{matchExpressions: [{key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: Exists}]}`,
		},
		{
			Name:     "empty selector in v1",
			Reason:   "an empty selector selects all pods in v1",
			Manifest: `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {selector: {}}}`,
			To:       &policyv1beta1.PodDisruptionBudget{},
			Path:     "spec.selector",
			Want:     `{matchExpressions: [{key: pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match, operator: DoesNotExist}]}`,
		},
	})
}
