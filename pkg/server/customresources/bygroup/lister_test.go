package bygroup

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestLister(t *testing.T) {
	t.Parallel()
	definitions := crdinformers.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions().Informer()
	lister, err := NewLister(definitions)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct {
		name, group    string
		established    apiextensionsv1.ConditionStatus
		served, hidden string
	}{
		{"b", "one", apiextensionsv1.ConditionTrue, "v1", "v2"},
		{"a", "one", apiextensionsv1.ConditionTrue, "v2", ""},
		{"c", "one", apiextensionsv1.ConditionFalse, "v1", ""},
		{"d", "one", apiextensionsv1.ConditionTrue, "", "v1"},
		{"e", "two", apiextensionsv1.ConditionTrue, "v1", ""},
	} {
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: d.name},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: d.group, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: d.served, Served: d.served != ""}, {Name: d.hidden},
			}},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{
				Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: d.established}},
			},
		}
		if err := definitions.GetIndexer().Add(crd); err != nil {
			t.Fatal(err)
		}
	}
	names := func(crds []*apiextensionsv1.CustomResourceDefinition) []string {
		var all []string
		for _, crd := range crds {
			all = append(all, crd.Name)
		}
		return all
	}
	for _, test := range []struct {
		name   string
		found  []*apiextensionsv1.CustomResourceDefinition
		want   []string
		reason string
	}{
		{"group", lister.Served("one"), []string{"a", "b"}, "one definition isn't established, and another one serves no version"},
		{"other group", lister.Served("two"), []string{"e"}, "the definitions of other groups are left out"},
		{"unknown group", lister.Served("three"), nil, "no definition has the group"},
		{"version", lister.Serving(schema.GroupVersion{Group: "one", Version: "v1"}), []string{"b"}, "the definition a serves v2 alone"},
		{"unserved version", lister.Serving(schema.GroupVersion{Group: "one", Version: "v2"}), []string{"a"}, "the definition b has v2, but doesn't serve it"},
	} {
		if got := names(test.found); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v: %s", test.name, got, test.want, test.reason)
		}
	}
}
