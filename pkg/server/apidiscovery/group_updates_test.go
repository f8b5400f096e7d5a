package apidiscovery

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
)

// An APIService is the same object as long as a definition serves its version, and isn't kept longer.
func TestCustomAPIServices(t *testing.T) {
	t.Parallel()
	crds := crdinformers.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	crd := &apiextensionsv1.CustomResourceDefinition{
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}},
		},
	}
	crd.Name = "dials.example.com"
	if err := crds.Informer().GetIndexer().Add(crd); err != nil {
		t.Fatal(err)
	}
	groups := NewGroups(crds, &List{}, nil, Hooks{})
	first, second := groups.Sync(), groups.Sync()
	if len(first) != 1 || len(second) != 1 || first[0] != second[0] {
		t.Errorf("want the same APIService twice, got %v and %v", first, second)
	}
	if err := crds.Informer().GetIndexer().Delete(crd); err != nil {
		t.Fatal(err)
	}
	if left := groups.Sync(); len(left) != 0 || len(groups.custom) != 0 {
		t.Errorf("nothing serves a version, but the APIServices are %v, and %v are kept", left, groups.custom)
	}
}
