package external

import (
	"context"
	"path"
	"time"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const (
	// presenceTTL is the time for which a server still counts as present after it has crashed.
	presenceTTL = 15 * time.Second
	// presenceTimeout limits the time for which a server waits for answers of etcd about presences. Afterwards, the
	// server goes on without them. It is also the pause before a server tries again to announce itself.
	presenceTimeout = time.Second
)

// Presence is a key in an external etcd. It shows other servers on the same etcd that this server is running.
type Presence struct {
	client *clientv3.Client
	// marks is the prefix of the keys of all miniapi servers. mark is the key of this server.
	marks, mark string
	// others is the prefix of the keys that running kube-apiservers write.
	others string
	ended  chan struct{}
}

// Announce writes the key of this server to the etcd, below the prefix of the server's objects. The key stays until ctx
// ends.
func (e *Etcd) Announce(ctx context.Context, prefix string) (*Presence, error) {
	p, err := e.presence(ctx, prefix)
	if err != nil {
		return nil, err
	}
	session, err := p.announce(ctx)
	if err != nil {
		_ = p.client.Close()
		return nil, err
	}
	go p.stay(ctx, session)
	return p, nil
}

func (e *Etcd) presence(ctx context.Context, prefix string) (*Presence, error) {
	// The session stays alive when ctx ends, until the key is removed.
	client, err := e.client(context.WithoutCancel(ctx), e.servers...)
	if err != nil {
		return nil, err
	}
	marks := path.Join("/", prefix, "miniapi-servers") + "/"
	return &Presence{
		client: client,
		marks:  marks,
		mark:   marks + uuid.NewString(),
		others: path.Join("/", prefix, "masterleases") + "/",
		ended:  make(chan struct{}),
	}, nil
}

// Alone reports whether this is the only server of the etcd with the prefix of Announce. A server that announced itself
// before the call counts. A server that starts after the call doesn't matter to the caller, because that server reads
// everything that is stored by then. If etcd doesn't answer, or doesn't have this server's key, Alone returns false.
func (p *Presence) Alone(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
	defer cancel()
	servers, err := p.client.Get(ctx, p.marks, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(2))
	if err != nil || len(servers.Kvs) != 1 || string(servers.Kvs[0].Key) != p.mark {
		return false
	}
	others, err := p.client.Get(ctx, p.others, clientv3.WithPrefix(), clientv3.WithCountOnly())
	return err == nil && others.Count == 0
}

// Wait returns soon after the ctx of Announce ends, when the key is removed or its removal has failed.
func (p *Presence) Wait() { <-p.ended }

// announce writes the key with a lease. The session keeps the lease alive.
func (p *Presence) announce(ctx context.Context) (*concurrency.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
	defer cancel()
	lease, err := p.client.Grant(ctx, int64(presenceTTL.Seconds()))
	if err != nil {
		return nil, err
	}
	if _, err := p.client.Put(ctx, p.mark, "", clientv3.WithLease(lease.ID)); err != nil {
		return nil, err
	}
	return concurrency.NewSession(p.client, concurrency.WithLease(lease.ID))
}

// stay writes the key again whenever its lease has expired, for example after an outage of etcd. It removes the key
// when ctx ends.
func (p *Presence) stay(ctx context.Context, session *concurrency.Session) {
	defer close(p.ended)
	defer func() { _ = p.client.Close() }()
	for {
		select {
		case <-session.Done():
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), presenceTimeout)
			defer cancel()
			_, _ = p.client.Revoke(end, session.Lease()) // if this fails, the lease expires
			return
		}
		again, err := p.announce(ctx)
		if err == nil {
			session = again
			continue
		}
		select {
		case <-time.After(presenceTimeout):
		case <-ctx.Done():
		}
	}
}
