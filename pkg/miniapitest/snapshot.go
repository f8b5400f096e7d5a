package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// restoreTimeout is far above what a restore takes.
const restoreTimeout = 30 * time.Second

// Snapshot is what a Server stored at a moment.
type Snapshot struct{ stored *server.Snapshot }

// Reset puts the server back to what it was when Start returned, in milliseconds: what
// was created since is gone, what was changed or deleted is as it was. Watches are told,
// by events like any other. Nobody is asked, no finalizer and no webhook; but it takes half
// a second where finalizers hold the resources of definitions that are being deleted.
//
// When Reset returns it is in effect: what was configured since the start, webhooks and
// policies too, no longer counts. Handlers, users and clients stay. Who goes on writing
// while it works, such as a controller of the test, should be stopped before.
func (s *Server) Reset() error { return s.Restore(s.started) }

// Snapshot remembers what the server stores now, for Restore.
func (s *Server) Snapshot() (*Snapshot, error) {
	if err := s.checkRunning(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	stored, err := s.server.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &Snapshot{stored}, nil
}

// Restore is Reset to a snapshot of this server.
func (s *Server) Restore(snapshot *Snapshot) error {
	if snapshot == nil || snapshot.stored == nil {
		return errors.New("there is nothing to restore: the snapshot isn't one that Server.Snapshot has taken, and a server with an external etcd takes none")
	}
	if err := s.checkRunning(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	return s.server.Restore(ctx, snapshot.stored)
}

// checkRunning is an error once the server has ended: etcd wouldn't answer.
func (s *Server) checkRunning() error {
	select {
	case <-s.running.ended:
	default:
		return nil
	}
	if s.running.err != nil {
		return fmt.Errorf("the server has ended: %w", s.running.err)
	}
	return errors.New("the server has been stopped")
}
