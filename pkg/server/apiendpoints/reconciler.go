package apiendpoints

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
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

// Config has the parts of the server that a Reconciler needs. All fields but Leases are required.
type Config struct {
	// Address is the server's address in the endpoints.
	Address netip.Addr
	// Leases has the storage options for the leases of servers. Without leases, the endpoints are the server's address
	// alone.
	Leases *storagebackend.ConfigForResource
	// Present returns the endpoints of the service, and Ensure makes the addresses the endpoints.
	Present func(context.Context) ([]netip.Addr, error)
	Ensure  func(context.Context, []netip.Addr) error
}

// Reconciler keeps the endpoints of the service "kubernetes".
type Reconciler struct {
	config  Config
	leases  *leases // nil without leases
	running sync.WaitGroup
	// reconciling is held by the one call that reads the leases and writes the endpoints.
	reconciling sync.Mutex
	left        atomic.Bool
}

// New returns a Reconciler. It does nothing before Start. Close ends it.
func New(config Config) (*Reconciler, error) {
	r := &Reconciler{config: config}
	if config.Leases == nil {
		return r, nil
	}
	var err error
	r.leases, err = newLeases(config.Leases)
	return r, err
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
	if r.leases == nil {
		return r.config.Ensure(ctx, []netip.Addr{r.config.Address})
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
	if err := r.leave(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "the address of this server stays in the endpoints of the service default/kubernetes for now", "address", r.config.Address)
	}
}

func (r *Reconciler) leave(ctx context.Context) error {
	if r.leases != nil {
		if err := r.leases.remove(ctx, r.config.Address); err != nil {
			return err
		}
		return r.reconcile(ctx)
	}
	// Without leases, the endpoints may be those of a server that has started later.
	others, err := r.config.Present(ctx)
	if err != nil {
		return err
	}
	return r.config.Ensure(ctx, slices.DeleteFunc(others, func(a netip.Addr) bool { return a == r.config.Address }))
}

// Close ends the Reconciler, and returns when its background work has ended. The context of Start must have ended.
func (r *Reconciler) Close() {
	r.running.Wait()
	if r.leases != nil {
		r.leases.destroy()
	}
}
