package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/raft/v3/raftpb"
)

// campaignRetry is the time between two attempts to elect the member.
const campaignRetry = 200 * time.Microsecond

// leadTimeout bounds the time from the start of etcd to its first commit. It takes milliseconds, unless many
// members start at the same time.
const leadTimeout = time.Minute

// campaign makes the member leader at once: it tells raft that the leadership is transferred to the member.
// Otherwise the member would wait for an election timeout. At the very first start, raft refuses the transfer until
// it has applied the member's own membership.
func campaign(ctx context.Context, server *etcdserver.EtcdServer) error {
	self := uint64(server.MemberID())
	transfer := &raftpb.Message{Type: raftpb.MsgTimeoutNow.Enum(), From: &self, To: &self}
	if err := server.Process(ctx, transfer); err != nil {
		return fmt.Errorf("making etcd its own leader: %w", err)
	}
	return nil
}

// lead waits until the member is the leader and has committed its first entry. It repeats the campaign while raft
// refuses.
func lead(ctx context.Context, server *etcdserver.EtcdServer, trap *trap) error {
	ctx, cancel := context.WithTimeout(ctx, leadTimeout)
	defer cancel()
	retry := time.NewTicker(campaignRetry)
	defer retry.Stop()
	for {
		select {
		case <-server.ReadyNotify():
			return nil
		case <-retry.C:
			if server.Lead() == uint64(server.MemberID()) {
				retry.Stop()
			} else if err := campaign(ctx, server); err != nil {
				return err
			}
		case <-trap.running.Done():
			return trap.failure()
		case <-server.StopNotify():
			return errors.New("etcd stopped during its start")
		case <-ctx.Done():
			return fmt.Errorf("waiting at most %s for the first commit: %w", leadTimeout, ctx.Err())
		}
	}
}
