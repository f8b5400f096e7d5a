package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// restoreTimeout is much longer than a restore takes.
const restoreTimeout = 30 * time.Second

// Snapshot is everything that a Server stored at one moment.
type Snapshot struct{ stored engine.Snapshot }

// Reset restores the objects of the moment when Start returned, in milliseconds: new objects are deleted, and changed
// or deleted objects are restored. Watches get ordinary events. Reset ignores finalizers and webhooks, but takes half a
// second if finalizers hold the resources of definitions that are being deleted.
//
// When Reset returns, webhooks, policies and other configuration written since the start have no effect any more.
// Handlers, users and clients stay. Stop the test's controllers before Reset: objects that they write meanwhile stay.
func (s *Server) Reset() error { return s.Restore(s.started) }

// Snapshot records everything that the server stores now, for Restore.
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

// Restore restores the objects of a snapshot of this server, as Reset does with those of the start.
func (s *Server) Restore(snapshot *Snapshot) error {
	if snapshot == nil || snapshot.stored == nil {
		return errors.New("there is nothing to restore: the snapshot isn't from Server.Snapshot, or the server has an external etcd")
	}
	if err := s.checkRunning(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	return s.server.Restore(ctx, snapshot.stored)
}

// checkRunning returns an error if the server has ended: etcd wouldn't answer.
func (s *Server) checkRunning() error {
	select {
	case <-s.server.Ended():
	default:
		return nil
	}
	if err := s.server.Err(); err != nil {
		return fmt.Errorf("the server has ended: %w", err)
	}
	return errors.New("the server has been stopped")
}
