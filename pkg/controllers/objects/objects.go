// Package objects tells controllers of the metadata of every object that a server stores, whatever its kind.
//
// A server that stores the objects in its own process is a [Source] without a goroutine. [Informers] is a source
// for any other server: it has an informer for each resource. Use client-go's informers where the kind of the objects is
// known and more than their metadata is wanted.
package objects

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Object is the metadata of an object that controllers need.
type Object struct {
	// Kind is the kind of the object, in a version that the source chooses.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	Owners          []metav1.OwnerReference
	// Deleting is true when the object has a deletion timestamp. Orphan and Foreground are true when it has the
	// finalizer of that propagation policy.
	Deleting, Orphan, Foreground bool
}

// New returns the Object for an object's metadata.
func New(kind schema.GroupVersionKind, o metav1.Object) Object {
	finalizers := o.GetFinalizers()
	return Object{
		Kind:       kind,
		Namespace:  o.GetNamespace(),
		Name:       o.GetName(),
		UID:        o.GetUID(),
		Owners:     o.GetOwnerReferences(),
		Deleting:   o.GetDeletionTimestamp() != nil,
		Orphan:     slices.Contains(finalizers, metav1.FinalizerOrphanDependents),
		Foreground: slices.Contains(finalizers, metav1.FinalizerDeleteDependents),
	}
}

// Handler gets the events of objects. Its methods are called one at a time, and must return soon.
type Handler interface {
	// Stored is called with each object that is stored, and again after each change of it.
	Stored(Object)
	// Deleted is called with the last known state of an object that is stored no longer.
	Deleted(Object)
	// Listed is called after each list, with the UIDs of all stored objects. The source may have missed deletions
	// between two lists.
	Listed(all sets.Set[types.UID])
}

// Source tells of objects.
type Source interface {
	// Follow starts to call the handler, and returns at once. The handler gets all stored objects and then, until ctx
	// ends, all changes; the changes of one object come in their order. synced is called once, when the handler has
	// received every object that was stored at the call of Follow. Objects of the kind Event are left out: they have no
	// owners and no dependents.
	Follow(ctx context.Context, handler Handler, synced func())
	// Settle returns when the handler has received every object that was stored before the call.
	Settle(ctx context.Context) error
}

// Serialized returns a handler for several sources, whose calls it passes on one at a time.
func Serialized(h Handler) Handler { return &serialized{handler: h} }

type serialized struct {
	mu      sync.Mutex
	handler Handler
}

// Stored implements Handler.
func (s *serialized) Stored(o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler.Stored(o)
}

// Deleted implements Handler.
func (s *serialized) Deleted(o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler.Deleted(o)
}

// Listed implements Handler.
func (s *serialized) Listed(all sets.Set[types.UID]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler.Listed(all)
}

// Handlers tells several handlers.
type Handlers []Handler

var _ Handler = Handlers{}

// Stored implements Handler.
func (h Handlers) Stored(o Object) {
	for _, handler := range h {
		handler.Stored(o)
	}
}

// Listed implements Handler.
func (h Handlers) Listed(all sets.Set[types.UID]) {
	for _, handler := range h {
		handler.Listed(all)
	}
}

// Deleted implements Handler.
func (h Handlers) Deleted(o Object) {
	for _, handler := range h {
		handler.Deleted(o)
	}
}
