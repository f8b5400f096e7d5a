package customresources

import (
	"context"
	"testing"

	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"
)

// writable is a store that counts writes.
type writable struct {
	storage.Interface
	writes int
}

func (w *writable) GuaranteedUpdate(context.Context, string, runtime.Object, bool, *storage.Preconditions, storage.UpdateFunc, runtime.Object) error {
	w.writes++
	return nil
}

func (w *writable) Delete(context.Context, string, runtime.Object, *storage.Preconditions, storage.ValidateObjectFunc, runtime.Object, storage.DeleteOptions) error {
	w.writes++
	return nil
}

// TestCleanupOfRestored checks that the controllers delete custom resources together with their definition,
// unless a restore of a snapshot has brought the definition back.
func TestCleanupOfRestored(t *testing.T) {
	t.Parallel()
	const name = "widgets.example.com"
	users := func(ctx context.Context) context.Context {
		return request.WithUser(ctx, &user.DefaultInfo{Name: "alice"})
	}
	controllers := func(ctx context.Context) context.Context { return ctx }
	for _, test := range []struct {
		name, reason string
		before       func(*barrier)
		by           func(context.Context) context.Context
		want         int
	}{
		{"deleted", "the controllers delete a custom resource together with its definition",
			func(b *barrier) { b.ends(name, "5") }, controllers, 2},
		{"restored", "Restore has brought the definition back",
			func(b *barrier) { b.ends(name, "5"); b.cleanup.keep(name, "7") }, controllers, 0},
		{"restored, and deleted before", "the event of the earlier deletion comes after the restore",
			func(b *barrier) { b.cleanup.keep(name, "7"); b.ends(name, "5") }, controllers, 0},
		{"restored, and deleted again", "the controllers delete a custom resource together with its definition",
			func(b *barrier) { b.cleanup.keep(name, "7"); b.ends(name, "9") }, controllers, 2},
		{"another is restored", "Restore has brought back another definition",
			func(b *barrier) { b.cleanup.keep("gears.example.com", "7") }, controllers, 2},
		{"restored, by a user", "a user's request is served", func(b *barrier) { b.cleanup.keep(name, "7") }, users, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			barrier, inner := newBarrier(t.Context()), &writable{}
			none := crdlisters.NewCustomResourceDefinitionLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil))
			stores := &stores{written: func(schema.GroupResource, runtime.Object) {}, cleanup: &barrier.cleanup, lister: none}
			store, destroy := stores.decorate(schema.ParseGroupResource(name), inner, func() {})
			defer destroy()
			test.before(barrier)
			ctx := test.by(t.Context())
			held := store.GuaranteedUpdate(ctx, "/a", nil, false, nil, nil, nil) // a finalizer keeps the custom resource
			gone := store.Delete(ctx, "/b", nil, nil, nil, nil, storage.DeleteOptions{})
			if refused := test.want == 0; inner.writes != test.want || (held != nil) != refused || (gone != nil) != refused {
				t.Errorf("%s: want %d writes, got %d, errors %v and %v", test.reason, test.want, inner.writes, held, gone)
			}
		})
	}
}
