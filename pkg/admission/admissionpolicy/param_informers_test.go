package admissionpolicy

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// things returns a CustomResourceDefinition of the kind Thing in example.com/v1.
func things(uid types.UID, schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com", UID: uid, ResourceVersion: "1"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
			}},
		},
	}
}

var (
	thing     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	ofThings  = paramKind{"example.com/v1", "Thing"}
	anyObject = &apiextensionsv1.JSONSchemaProps{Type: "object"}
)

func TestParamsRenew(t *testing.T) {
	t.Parallel()
	old := things("1", anyObject)
	changed := things("1", &apiextensionsv1.JSONSchemaProps{Type: "object", Description: "changed"})
	touched := things("1", anyObject)
	touched.ResourceVersion = "2"
	tests := []struct {
		name, reason string
		was, is      *apiextensionsv1.CustomResourceDefinition
		// plural is the name of the kind's resource after the definition has changed, or empty if the kind isn't
		// served. scope is the scope of the resource.
		plural string
		scope  meta.RESTScope
		// stopped is true if renew must stop the informer. kept is true if the informer's objects must still be
		// available. renewed is the result that renew must return.
		stopped, kept, renewed bool
	}{
		{name: "same", reason: "nothing has changed", was: old, is: old, plural: "things", scope: meta.RESTScopeNamespace, kept: true},
		{name: "touched", reason: "the change doesn't affect the schema", was: old, is: touched, plural: "things",
			scope: meta.RESTScopeNamespace, kept: true},
		{name: "changed", reason: "the listed objects have the old schema", was: old, is: changed, plural: "things",
			scope: meta.RESTScopeNamespace, stopped: true, renewed: true},
		{name: "anew", reason: "the new definition has other objects", was: old, is: things("2", anyObject),
			plural: "things", scope: meta.RESTScopeNamespace, stopped: true, renewed: true},
		{name: "appeared", reason: "the informer had no resource to list", is: old, plural: "things",
			scope: meta.RESTScopeNamespace, stopped: true, renewed: true},
		{name: "other resource", reason: "the resource that the informer lists isn't served", was: old, is: old,
			plural: "stuff", scope: meta.RESTScopeNamespace, stopped: true, renewed: true},
		{name: "other scope", reason: "the scope decides by which key an informer finds objects", was: old, is: old,
			plural: "things", scope: meta.RESTScopeRoot, stopped: true, renewed: true},
		{name: "not served", reason: "the kind has no resource now, so the old informer stays", was: old, is: changed, kept: true},
		{name: "gone", reason: "the objects are gone, but the definition may come back", was: old, plural: "things",
			scope: meta.RESTScopeNamespace, stopped: true, kept: true},
		{name: "still gone", reason: "the informer has been stopped before", plural: "things", scope: meta.RESTScopeNamespace, kept: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			mapper := meta.NewDefaultRESTMapper(nil)
			if test.plural != "" {
				gv := thing.GroupVersion()
				mapper.AddSpecific(thing, gv.WithResource(test.plural), gv.WithResource("thing"), test.scope)
			}
			stopped := 0
			p := &params{
				mapper:     mapper,
				definition: func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition { return test.is },
				running: map[paramKind]paramInformer{ofThings: {
					resource: thing.GroupVersion().WithResource("things"), scope: meta.RESTScopeNamespace,
					definition: test.was, stop: func() { stopped++ },
				}},
			}
			if renewed := p.renew(); renewed != test.renewed {
				t.Errorf("%s: renewed: %t, want %t", test.reason, renewed, test.renewed)
			}
			if (stopped == 1) != test.stopped {
				t.Errorf("%s: stopped %d times, want it: %t", test.reason, stopped, test.stopped)
			}
			running, kept := p.running[ofThings]
			if kept != test.kept {
				t.Errorf("%s: kept: %t, want %t", test.reason, kept, test.kept)
			}
			if test.is == nil && running.definition != nil {
				t.Errorf("%s: the definition that is gone is still known", test.reason)
			}
		})
	}
}

func TestParamsKeep(t *testing.T) {
	t.Parallel()
	other := paramKind{"example.com/v1", "Other"}
	var stopped []paramKind
	p := &params{running: map[paramKind]paramInformer{}}
	for _, kind := range []paramKind{ofThings, other} {
		p.running[kind] = paramInformer{stop: func() { stopped = append(stopped, kind) }}
	}
	p.keep(map[paramKind]bool{ofThings: true})
	if _, kept := p.running[ofThings]; !kept || len(p.running) != 1 || len(stopped) != 1 || stopped[0] != other {
		t.Errorf("running %v, stopped %v: want the informer that is used to go on, alone", p.running, stopped)
	}
}

// The informer of a kind is started once. If the definition of the kind changes, a new informer is started.
func TestParamsGet(t *testing.T) {
	t.Parallel()
	gvr := thing.GroupVersion().WithResource("things")
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(thing, gvr, thing.GroupVersion().WithResource("thing"), meta.RESTScopeNamespace)
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(thing)
	object.SetNamespace("ns")
	object.SetName("a")
	observed := 0
	definition := things("1", anyObject)
	p := &params{
		informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{gvr: "ThingList"}, object),
		mapper: mapper,
		observe: func(resource schema.GroupResource, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
			if resource == gvr.GroupResource() {
				observed++
			}
			return informer
		},
		definition: func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition { return definition },
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	get := func() informers.GenericInformer {
		t.Helper()
		informer, scope, err := p.get(ctx, ofThings)
		if err != nil {
			t.Fatal(err)
		}
		if objects, err := informer.Informer().GetIndexer().ByIndex(cache.NamespaceIndex, "ns"); err != nil || len(objects) != 1 || scope != meta.RESTScopeNamespace {
			t.Fatalf("of the namespace it has %v, error %v; scope %v", objects, err, scope)
		}
		return informer
	}
	first := get()
	if get() != first || observed != 1 {
		t.Errorf("a kind's informer was made, and observed, %d times, want once", observed)
	}
	if p.renew() {
		t.Error("the informer is renewed, but its definition is what it was")
	}
	definition = things("2", anyObject)
	if !p.renew() || get() == first || observed != 2 {
		t.Error("the informer of another definition is the old one")
	}
	p.keep(nil)

	if _, _, err := p.get(ctx, paramKind{"example.com/v1", "Other"}); err == nil || err.Error() != "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Other'" {
		t.Errorf("kind that isn't served: error %v", err)
	}
	if _, _, err := p.get(ctx, paramKind{"a/b/c", "Other"}); err == nil {
		t.Error("malformed version: no error")
	}
}
