package customresources

import (
	"fmt"
	"net/http"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// What stores were made of is known for as long as it is there: a server may see any number of definitions.
func TestServedDefinitionsAreForgotten(t *testing.T) {
	t.Parallel()
	define := func(plural string, uid types.UID) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + ".example.com", UID: uid},
			Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural}},
		}
	}
	stored := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	b := newBarrier(t.Context())
	b.served.lister = crdlisters.NewCustomResourceDefinitionLister(stored)
	serve := func(crd *apiextensionsv1.CustomResourceDefinition) {
		if err := stored.Add(crd); err != nil {
			t.Fatal(err)
		}
		b.observe(crd, false)
		b.served.note(schema.GroupResource{Group: "example.com", Resource: crd.Spec.Names.Plural})
	}
	for i := range 10 {
		crd := define(fmt.Sprint("gears", i), "1")
		serve(crd)
		if err := stored.Delete(crd); err != nil {
			t.Fatal(err)
		}
		b.observe(crd, true)
	}
	if left := len(b.served.made); left != 0 {
		t.Errorf("%d definitions that are gone are kept", left)
	}

	// Requests may have made the stores of one that follows before the end of the other is told.
	serve(define("gears", "1"))
	serve(define("gears", "2"))
	b.observe(define("gears", "1"), true)
	if made := b.served.made[schema.GroupResource{Group: "example.com", Resource: "gears"}]; made == nil || made.UID != "2" {
		t.Errorf("the definition that followed is forgotten: %v", made)
	}
}

// A caller of definition gets no definition before requests are served by it: parameters of policies that were listed
// then would have the old schema.
func TestDefinitionIsServed(t *testing.T) {
	t.Parallel()
	define := func(version, short string) *apiextensionsv1.CustomResourceDefinition {
		names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Kind: "Gear", ShortNames: []string{short}}
		return &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: "gears.example.com", UID: "1", ResourceVersion: version},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "example.com", Names: names, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}},
			},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{
				AcceptedNames: names,
				Conditions:    []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}},
			},
		}
	}
	stored := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	b := newBarrier(t.Context())
	b.served.lister = crdlisters.NewCustomResourceDefinitionLister(stored)
	asked := 0
	b.served.handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if asked++; asked == 2 { // before that it hasn't been told of the change
			b.served.note(schema.GroupResource{Group: "example.com", Resource: "gears"})
		}
	})
	if err := stored.Add(define("1", "g")); err != nil {
		t.Fatal(err)
	}
	b.served.note(schema.GroupResource{Group: "example.com", Resource: "gears"})
	changed := define("2", "cog")
	if err := stored.Update(changed); err != nil {
		t.Fatal(err)
	}
	if got := b.definition(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gear"}); got != changed || b.served.stale(changed) {
		t.Errorf("the definition is %v, and requests are served by an older one: %v", got, b.served.stale(changed))
	}
}
