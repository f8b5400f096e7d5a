package storage

import (
	"context"
	"path"
	"time"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

const (
	// presenceTTL is the time for which a server that has crashed still counts as present.
	presenceTTL = 15 * time.Second
	// presenceTimeout bounds a call about presences. A longer wait would cost more than the result is worth.
	presenceTimeout = time.Second
)

// Presence is the mark of a server in an external etcd, where other servers may store the same objects.
type Presence struct {
	client *clientv3.Client
	// marks is the folder of all servers' marks. mark is this server's.
	marks, mark string
	// others is the folder of kube-apiserver's own marks.
	others string
	ended  chan struct{}
}

// Announce marks a server in the etcd of a transport, below the prefix of its objects, until ctx ends.
func Announce(ctx context.Context, c storagebackend.TransportConfig, prefix string) (*Presence, error) {
	p, err := newPresence(ctx, c, prefix)
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

func newPresence(ctx context.Context, c storagebackend.TransportConfig, prefix string) (*Presence, error) {
	prober, err := newProber(c)
	if err != nil {
		return nil, err
	}
	// The mark is removed after ctx has ended.
	client, err := prober.client(context.WithoutCancel(ctx), c.ServerList...)
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

// Alone reports whether no other server is present. A server that began before is present; a server that begins later
// finds everything that is stored by then. If the answer is unknown, Alone returns false.
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

// Wait returns when the mark is removed, soon after the end of Announce's ctx.
func (p *Presence) Wait() { <-p.ended }

// announce makes the mark. The mark lasts as long as its session.
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

// stay makes the mark again if etcd has dropped it after an outage, and removes the mark at the end.
func (p *Presence) stay(ctx context.Context, session *concurrency.Session) {
	defer close(p.ended)
	defer func() { _ = p.client.Close() }()
	for {
		select {
		case <-session.Done():
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), presenceTimeout)
			defer cancel()
			_, _ = p.client.Revoke(end, session.Lease()) // otherwise the lease expires
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
