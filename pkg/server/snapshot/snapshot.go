// Package snapshot takes snapshots of the stored objects of a server with an embedded etcd, and restores them.
// [Snapshots] has the functions. A snapshot is in memory: to keep objects longer than the process, use a data folder.
package snapshot

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/registry"
	"github.com/miniapi-dev/miniapi/pkg/storage"
)

// Snapshot is a copy of all stored objects at one moment.
type Snapshot struct {
	of     *Snapshots
	stored *storage.Snapshot
}

// With returns a snapshot that has the records besides the objects of s, and in place of those with the same keys.
func (s *Snapshot) With(records []storage.Record) *Snapshot {
	return &Snapshot{of: s.of, stored: s.stored.With(records)}
}

// CustomResources prepares custom resource definitions for a restore, and waits until restored definitions are in
// effect.
type CustomResources interface {
	// EndDeletions waits until custom resource definitions that are being deleted are gone, or until a short time is
	// over.
	EndDeletions(ctx context.Context)
	// Restored waits until the server serves a custom resource definition as it was written at an etcd revision. If
	// deleted is true, the definition was deleted at the revision, and Restored waits until the server doesn't serve it.
	Restored(ctx context.Context, name string, revision int64, deleted bool)
}

// Barrier waits until informers have received a write: see informer.Barrier.
type Barrier interface {
	Wait(ctx context.Context, resource schema.GroupResource, obj runtime.Object)
}

// Snapshots takes and restores the snapshots of one server with an embedded etcd.
type Snapshots struct {
	Table           *registry.Table
	Keys            *storage.Keys
	CustomResources CustomResources
	Barrier         Barrier
	// Hold interrupts the controllers, and the checks of the servers of APIServices, until release is called.
	Hold func() (release func())
	// Root is the prefix of all etcd keys, without the slash at its end.
	Root string
}

// Take takes a snapshot of all stored objects, for Restore.
func (s *Snapshots) Take(ctx context.Context) (*Snapshot, error) {
	stored, err := s.Keys.Snapshot(ctx, s.Root+"/")
	if err != nil {
		return nil, err
	}
	return &Snapshot{of: s, stored: stored}, nil
}
