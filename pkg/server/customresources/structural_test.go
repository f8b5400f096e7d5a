package customresources

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestMayBeLoose(t *testing.T) {
	t.Parallel()
	with := func(preserves bool, conditions ...apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinition {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Spec.PreserveUnknownFields = preserves
		for _, condition := range conditions {
			crd.Status.Conditions = append(crd.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: condition})
		}
		return crd
	}
	for _, test := range []struct {
		name, reason string
		crd          *apiextensionsv1.CustomResourceDefinition
		want         bool
	}{
		{"new", "the API has checked the schemas", with(false), false},
		{"established", "other conditions don't matter", with(false, apiextensionsv1.Established), false},
		{"old", "the API doesn't check the schemas", with(true), true},
		{"upgraded", "the controller must remove its condition", with(false, apiextensionsv1.NonStructuralSchema), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := mayBeLoose(test.crd); got != test.want {
				t.Errorf("got %t, want %t: %s", got, test.want, test.reason)
			}
		})
	}
}
