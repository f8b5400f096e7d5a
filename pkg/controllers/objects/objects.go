// Package objects gives controllers the metadata of every object that a server stores, of all kinds.
//
// A [Source] reports the objects. A server that stores the objects in its own process has a source that needs no
// goroutine. [Informers] is a source for any other server, with an informer for each resource.
//
// If a controller knows the kinds of its objects, or needs more than metadata, use client-go's informers.
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

// Object is the part of an object's metadata that controllers need.
type Object struct {
	// Kind is the kind of the object. The source chooses the version.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	Owners          []metav1.OwnerReference
	// Deleting is true if the object has a deletion timestamp. Orphan and Foreground are true if the object has the
	// finalizer of that propagation policy.
	Deleting, Orphan, Foreground bool
}

// New returns the Object for the metadata of an object.
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
	// Stored is called with each object that exists, and again after each change of it.
	Stored(Object)
	// Deleted is called with the last known state of an object that has been deleted.
	Deleted(Object)
	// Listed is called after each list, with the UIDs of all objects. A source that has missed events lists the objects
	// again. A known object that isn't in the argument all may have been deleted, or may belong to another source.
	Listed(all sets.Set[types.UID])
}

// Source reports objects to a handler.
type Source interface {
	// Follow begins to call the handler, and returns at once. The handler gets all objects, and then all changes
	// until ctx ends. The changes of one object come in their order.
	//
	// synced is called once, when the handler has received every object that existed at the call of Follow. Objects
	// of the kind Event are left out, because they have neither owners nor dependents. If some resources can't be
	// listed, a source may call synced without their objects.
	Follow(ctx context.Context, handler Handler, synced func())
	// Settle returns when the handler has received every object that was stored before the call. A source that can't
	// know this returns at once.
	Settle(ctx context.Context) error
}

// Serialized returns a handler that may be called by several sources at a time. It passes the calls on to h, one at
// a time.
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

// Handlers is a Handler that passes each call on to several handlers.
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
