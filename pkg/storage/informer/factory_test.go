package informer

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// accessors calls methods on the value "of", and returns the results by the methods' names. It calls those methods of
// the type "as" that have no parameters and return a type of a package below k8s.io/client-go/informers. Such methods
// lead from a factory to its groups, from a group to its versions, and from a version to its informers.
func accessors(t *testing.T, of reflect.Value, as reflect.Type) map[string]reflect.Value {
	t.Helper()
	found := map[string]reflect.Value{}
	for m := range as.Methods() {
		if m.Type.NumIn() == 0 && m.Type.NumOut() == 1 && strings.HasPrefix(m.Type.Out(0).PkgPath(), "k8s.io/client-go/informers/") {
			found[m.Name] = of.MethodByName(m.Name).Call(nil)[0]
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no accessors", as)
	}
	return found
}

// Factory has each informer that client-go's factory has, and the barrier observes the informer. The test fails if an
// upgrade of client-go adds a group without an accessor in Factory.
func TestFactoryInformersAreObserved(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	factory := NewFactory(client, NewBarrier(t.Context()), nil)
	library := informers.NewSharedInformerFactory(client, 0)
	for group, versions := range accessors(t, reflect.ValueOf(factory), reflect.TypeFor[informers.SharedInformerFactory]()) {
		for version, resources := range accessors(t, versions, versions.Type()) {
			for resource, typed := range accessors(t, resources, resources.Type()) {
				name := group + "()." + version + "()." + resource + "()"
				made, ok := typed.Interface().(interface {
					Informer() cache.SharedIndexInformer
				})
				if !ok {
					t.Errorf("%s has no informer", name)
					continue
				}
				before := observed(factory.barrier)
				made.Informer()
				added := observed(factory.barrier)
				maps.DeleteFunc(added, func(i awaited, _ schema.GroupResource) bool { return before[i] != schema.GroupResource{} })
				switch resources := slices.Collect(maps.Values(added)); {
				case len(resources) != 1:
					t.Errorf("the barrier doesn't observe %s: repeat the accessor %s in factory.go", name, group)
				case !isResource(library, resources[0]):
					t.Errorf("%s is observed as %s, which is no resource of client-go: writes of it wait for nothing", name, resources[0])
				}
			}
		}
	}
}

// observed returns the informers that the barrier observes, with their resources.
func observed(b *Barrier) map[awaited]schema.GroupResource {
	b.mu.RLock()
	defer b.mu.RUnlock()
	all := map[awaited]schema.GroupResource{}
	for resource, informers := range b.informers {
		for _, i := range informers {
			all[i] = resource
		}
	}
	return all
}

// isResource reports whether a factory has an informer of the resource, in one of the resource's versions.
func isResource(factory informers.SharedInformerFactory, resource schema.GroupResource) bool {
	for _, gv := range scheme.Scheme.PrioritizedVersionsForGroup(resource.Group) {
		if _, err := factory.ForResource(gv.WithResource(resource.Resource)); err == nil {
			return true
		}
	}
	return false
}

// Store reads what an informer knows that somebody else has asked for, and makes none.
func TestFactoryStore(t *testing.T) {
	t.Parallel()
	nodes := corev1.Resource("nodes")
	factory := NewFactory(fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), NewBarrier(t.Context()), nil)
	if factory.Store(nodes) != nil || len(factory.Resources()) > 0 {
		t.Errorf("without an informer: want no store and none made, got informers of %v", factory.Resources())
	}
	informer := factory.Core().V1().Nodes().Informer()
	if factory.Store(nodes) != nil {
		t.Error("before the first list: want no store")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		informer.RunWithContext(ctx)
	}()
	if err := factory.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	if store := factory.Store(nodes); store == nil {
		t.Error("of an informer that runs: want a store")
	} else if _, known, err := store.GetByKey("n"); !known || err != nil {
		t.Errorf("of an informer that runs: want the node, got %v", err)
	}
	cancel()
	<-ended
	if factory.Store(nodes) != nil {
		t.Error("of an informer that has stopped: want no store, because it doesn't follow changes")
	}
}
