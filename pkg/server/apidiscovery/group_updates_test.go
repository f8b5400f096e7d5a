package apidiscovery

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/server/customresources/bygroup"
)

// definition returns an established definition of a group that serves some versions.
func definition(plural string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".example.com"},
		Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com"},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{
			AcceptedNames: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural},
			Conditions:    []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}},
		},
	}
	for _, version := range versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: version, Served: true})
	}
	return crd
}

// TestGroups checks the list of groups and the APIServices after events of definitions.
func TestGroups(t *testing.T) {
	t.Parallel()
	crds := crdinformers.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	lister, err := bygroup.NewLister(crds.Informer())
	if err != nil {
		t.Fatal(err)
	}
	list := &List{}
	groups := NewGroups(crds, lister, list, nil, Hooks{
		ResourcesChanged: func() {},
		Observe:          func(*apiextensionsv1.CustomResourceDefinition, bool) {},
	})
	if _, err := groups.Start(NewManager()); err != nil {
		t.Fatal(err)
	}
	v1, both, other := definition("dials", "v1"), definition("dials", "v1", "v2"), definition("gears", "v1")
	indexer := crds.Informer().GetIndexer()
	for _, step := range []struct {
		name         string
		before, crd  *apiextensionsv1.CustomResourceDefinition
		deleted      bool
		versions     []string
		reason       string
		sameServices bool
	}{
		{name: "new", crd: v1, versions: []string{"v1"}, reason: "the definition is the first one of its group"},
		{name: "second", crd: other, versions: []string{"v1"}, reason: "the version is listed once", sameServices: true},
		{name: "another version", before: v1, crd: both, versions: []string{"v2", "v1"}, reason: "the newer version is preferred"},
		{name: "one version less", before: both, crd: v1, versions: []string{"v1"}, reason: "nothing serves v2 any more"},
		{name: "first deleted", crd: v1, deleted: true, versions: []string{"v1"}, reason: "the other definition serves v1", sameServices: true},
		{name: "all deleted", crd: other, deleted: true, reason: "a group without versions isn't listed"},
	} {
		services := groups.customAPIServices()
		if step.deleted {
			err = indexer.Delete(step.crd)
		} else {
			err = indexer.Update(step.crd)
		}
		if err != nil {
			t.Fatal(err)
		}
		groups.handle(step.before, step.crd, step.deleted)
		var versions []string
		for _, group := range list.listed() {
			for _, v := range group.Versions {
				versions = append(versions, v.Version)
			}
		}
		if !slices.Equal(versions, step.versions) {
			t.Errorf("%s: the group has versions %v, want %v: %s", step.name, versions, step.versions, step.reason)
		}
		now := groups.customAPIServices()
		if len(now) != len(step.versions) || step.sameServices && now[0] != services[0] {
			t.Errorf("%s: the APIServices %v became %v, want one for each of %v: %s", step.name, services, now, step.versions, step.reason)
		}
	}
}
