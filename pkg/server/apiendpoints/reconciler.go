package apiendpoints

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"
)

// leaveTimeout limits the time in which a stopping server removes its address. If the removal takes longer, the address
// stays until the lease expires and another server notices.
const leaveTimeout = 5 * time.Second

// Config has the parts of the server that a Reconciler needs. All fields are required.
type Config struct {
	// Address is the server's address in the endpoints.
	Address netip.Addr
	// Leases has the storage options for the leases of servers.
	Leases *storagebackend.ConfigForResource
	// Ensure makes the addresses the endpoints of the service.
	Ensure func(context.Context, []netip.Addr) error
}

// Reconciler keeps the endpoints of the service "kubernetes".
type Reconciler struct {
	config  Config
	leases  *leases
	running sync.WaitGroup
	// reconciling is held by the one call that reads the leases and writes the endpoints.
	reconciling sync.Mutex
	left        atomic.Bool
}

// New returns a Reconciler. It does nothing before Start. Close ends it.
func New(config Config) (*Reconciler, error) {
	leases, err := newLeases(config.Leases)
	if err != nil {
		return nil, err
	}
	return &Reconciler{config: config, leases: leases}, nil
}

// Start adds the server to the endpoints, and renews its lease until ctx ends. An error of the first write is logged,
// and the write tried again.
func (r *Reconciler) Start(ctx context.Context) {
	renew := func(ctx context.Context) {
		if err := r.renew(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "the endpoints of the service default/kubernetes aren't up to date, and the server tries again")
		}
	}
	renew(ctx)
	r.running.Go(func() { wait.UntilWithContext(ctx, renew, renewal) })
}

func (r *Reconciler) renew(ctx context.Context) error {
	r.reconciling.Lock()
	defer r.reconciling.Unlock()
	if r.left.Load() {
		return nil
	}
	if err := r.leases.renew(ctx, r.config.Address); err != nil {
		return fmt.Errorf("renew the lease of %s: %w", r.config.Address, err)
	}
	return r.reconcile(ctx)
}

// reconcile makes the addresses of the live servers the endpoints.
func (r *Reconciler) reconcile(ctx context.Context) error {
	live, err := r.leases.live(ctx)
	if err != nil {
		return fmt.Errorf("list the leases of servers: %w", err)
	}
	if len(live) == 0 && !r.left.Load() {
		return errors.New("no server has a lease, although this one has just renewed its own: the endpoints stay")
	}
	return r.config.Ensure(ctx, live)
}

// Leave removes the server from the endpoints at the beginning of a stop, so that clients connect to the other servers.
// The server must still be able to answer its own requests.
func (r *Reconciler) Leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	r.left.Store(true)
	r.reconciling.Lock()
	defer r.reconciling.Unlock()
	err := r.leases.remove(ctx, r.config.Address)
	if err == nil {
		err = r.reconcile(ctx)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "the address of this server stays in the endpoints of the service default/kubernetes until its lease expires", "address", r.config.Address)
	}
}

// Close ends the Reconciler, and returns when its background work has ended. The context of Start must have ended.
func (r *Reconciler) Close() {
	r.running.Wait()
	r.leases.destroy()
}
