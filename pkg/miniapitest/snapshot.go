package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// restoreTimeout limits the time of a restore, and the time of making a snapshot. Both take much less time.
const restoreTimeout = 30 * time.Second

// Snapshot is a copy of all objects of a Server at one moment.
type Snapshot struct{ stored engine.Snapshot }

// Reset restores the objects that the server had when Start returned: it deletes new objects, and restores changed and
// deleted objects. This takes milliseconds. Watches get ordinary events. Reset ignores finalizers and webhooks. It
// takes half a second if a custom resource definition is being deleted and finalizers keep its custom resources.
//
// When Reset returns, webhooks, policies and other configuration written since the start have no effect any more.
// Handlers, users and clients stay. Stop the test's controllers before Reset, because objects that they write during
// Reset stay.
func (s *Server) Reset() error { return s.Restore(s.started) }

// Snapshot copies all objects that the server stores now, for Restore.
func (s *Server) Snapshot() (*Snapshot, error) {
	if err := s.checkRunning(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	stored, err := s.server.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("taking a snapshot: %w", err)
	}
	return &Snapshot{stored}, nil
}

// Restore restores the objects of a snapshot of this server. Reset does the same with the snapshot of the server's
// start.
func (s *Server) Restore(snapshot *Snapshot) error {
	if snapshot == nil || snapshot.stored == nil {
		return errors.New("the snapshot is empty: give a snapshot that Server.Snapshot has returned without an error; Restore and Reset don't work with an external etcd")
	}
	if err := s.checkRunning(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), restoreTimeout)
	defer cancel()
	if err := s.server.Restore(ctx, snapshot.stored); err != nil {
		return fmt.Errorf("restoring a snapshot: %w", err)
	}
	return nil
}

// checkRunning returns an error if the server has ended, because requests to its etcd would get no answer.
func (s *Server) checkRunning() error {
	select {
	case <-s.server.Ended():
	default:
		return nil
	}
	if err := s.server.Err(); err != nil {
		return fmt.Errorf("the server has ended: %w", err)
	}
	return errors.New("the server has been stopped: call Apply, Snapshot, Restore and Reset before Stop")
}
