package admission

import (
	"reflect"
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// Each accessor of client-go's factory has its counterpart here. An accessor that a later client-go adds would return
// informers that no barrier observes.
func TestInformersHaveEveryGroup(t *testing.T) {
	t.Parallel()
	factory := NewInformers(fake.NewClientset(), NewBarrier(t.Context()), nil)
	accessors := reflect.TypeFor[informers.SharedInformerFactory]()
	groups := 0
	for i := range accessors.NumMethod() {
		accessor := accessors.Method(i)
		if accessor.Type.NumIn() != 0 || accessor.Type.NumOut() != 1 || accessor.Type.Out(0).Name() != "Interface" {
			continue // no accessor of a group
		}
		groups++
		group := reflect.ValueOf(factory).MethodByName(accessor.Name).Call(nil)[0].Elem().Elem()
		if of := group.FieldByName("factory").Elem(); of.Pointer() != reflect.ValueOf(factory).Pointer() {
			t.Errorf("%s: want informers of this factory, got those of a %s", accessor.Name, of.Type())
		}
	}
	if groups < 20 {
		t.Errorf("want the accessors of all groups, got %d", groups)
	}
}
