package storedmetadata_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/server/storedmetadata"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// told records the calls of a handler.
type told struct {
	mu  sync.Mutex
	all []string
}

func (h *told) add(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, what)
}

func (h *told) Stored(o objects.Object) {
	h.add(fmt.Sprintf("stored %s %s/%s %v deleting=%v", o.Kind.Kind, o.Namespace, o.Name, owners(o), o.Deleting))
}

func (h *told) Deleted(o objects.Object) {
	h.add(fmt.Sprintf("deleted %s/%s %s", o.Namespace, o.Name, o.UID))
}

func (h *told) Listed(all sets.Set[types.UID]) { h.add(fmt.Sprint("listed ", sets.List(all))) }

func owners(o objects.Object) (names []string) {
	for _, owner := range o.Owners {
		names = append(names, owner.Name)
	}
	return names
}

func (h *told) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

func configMap(t *testing.T, name string, owners ...string) string {
	t.Helper()
	object := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name)},
		Data:       map[string]string{"key": "value"},
	}
	for _, owner := range owners {
		object.OwnerReferences = append(object.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner})
	}
	var value bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &value); err != nil {
		t.Fatal(err)
	}
	return value.String()
}

const widget = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"ns","name":"widget","uid":"uid-widget","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{}}`

// The source calls the handler with every stored object below the prefix, except for Events, and with the changes of
// these objects in their order. A stored object is in JSON or in protobuf.
func TestSource(t *testing.T) {
	t.Parallel()
	member, err := storage.Start(t.Context(), storage.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := member.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	put := func(key, value string) {
		t.Helper()
		if _, err := member.Client().KV.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	put("/registry/configmaps/ns/a", configMap(t, "a"))
	put("/registry/example.com/widgets/ns/widget", widget)
	put("/registry/events/ns/event", configMap(t, "event"))
	put("/registry/ranges/serviceips", `{"apiVersion":"v1","kind":"RangeAllocation"}`)
	put("/registry/broken", "neither")
	put("/other/configmaps/ns/b", configMap(t, "b"))

	source := storedmetadata.New(member.Keys(), "/registry", map[schema.GroupResource]string{{Resource: "configmaps"}: "configmaps"})
	ctx, cancel := context.WithCancel(t.Context())
	var handler told
	synced := make(chan struct{})
	source.Follow(ctx, &handler, func() { close(synced) })
	<-synced
	expect := func(reason string, want ...string) {
		t.Helper()
		if err := source.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, handler.take()); diff != "" {
			t.Errorf("%s: the calls of the handler differ (-want +got):\n%s", reason, diff)
		}
	}
	expect("all stored objects, but no events and no other values",
		"stored ConfigMap ns/a [] deleting=false", "stored Widget ns/widget [] deleting=true", "listed [uid-a uid-widget]")

	put("/registry/configmaps/ns/c", configMap(t, "c", "a"))
	put("/registry/events/ns/event", configMap(t, "event"))
	if _, err := member.Client().KV.Delete(t.Context(), "/registry/configmaps/ns/a"); err != nil {
		t.Fatal(err)
	}
	put("/registry/configmaps/ns/c", configMap(t, "c"))
	expect("each change", "stored ConfigMap ns/c [a] deleting=false", "deleted ns/a uid-a", "stored ConfigMap ns/c [] deleting=false")
	put("/other/configmaps/ns/b", configMap(t, "b"))
	expect("a change elsewhere is none")

	for resource, want := range map[schema.GroupResource]int64{
		{Resource: "configmaps"}:                    1,
		{Group: "example.com", Resource: "widgets"}: 1,
		{Group: "example.com", Resource: "widget"}:  0,
	} {
		if got, err := source.Count(t.Context(), resource, "ns"); err != nil || got != want {
			t.Errorf("%s: want %d objects in the namespace, got %d, %v", resource, want, got, err)
		}
	}
	if got, err := source.Count(t.Context(), schema.GroupResource{Resource: "configmaps"}, "n"); err != nil || got != 0 {
		t.Errorf("want no objects in a namespace whose name begins alike, got %d, %v", got, err)
	}

	cancel()
	source.Wait()
	put("/registry/configmaps/ns/d", configMap(t, "d"))
	if got := handler.take(); !slices.Equal(got, nil) {
		t.Errorf("want nothing to be told after the end, got %v", got)
	}
}
