package server

import (
	"context"
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/server/snapshot"
)

// Snapshot is a copy of all stored objects at one moment.
type Snapshot = snapshot.Snapshot

var errNoSnapshots = errors.New("a snapshot needs an embedded etcd: start the server without --etcd-servers")

// Snapshot takes a snapshot of all stored objects, for Restore. It needs an embedded etcd.
func (s *Server) Snapshot(ctx context.Context) (*Snapshot, error) {
	if s.snapshots == nil {
		return nil, errNoSnapshots
	}
	return s.snapshots.Take(ctx)
}

// Restore brings back the objects of the snapshot: see snapshot.Snapshots.
func (s *Server) Restore(ctx context.Context, snapshot *Snapshot) error {
	if s.snapshots == nil {
		return errNoSnapshots
	}
	return s.snapshots.Restore(ctx, snapshot)
}
