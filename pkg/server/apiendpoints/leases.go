package apiendpoints

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	storagefactory "k8s.io/apiserver/pkg/storage/storagebackend/factory"
)

const (
	// leasesKey is the prefix of the etcd keys with the leases. A lease expires after leaseTTL, and its server renews it
	// every renewal.
	leasesKey = "/masterleases/"
	leaseTTL  = 15 * time.Second
	renewal   = 10 * time.Second
)

// leases are the leases of servers. A lease is stored as Endpoints with the server's address.
type leases struct {
	storage storage.Interface
	destroy func()
}

func newLeases(config *storagebackend.ConfigForResource) (*leases, error) {
	newEndpoints := func() runtime.Object { return &corev1.Endpoints{} }
	newList := func() runtime.Object { return &corev1.EndpointsList{} }
	stored, destroy, err := storagefactory.Create(*config, newEndpoints, newList, leasesKey)
	if err != nil {
		return nil, fmt.Errorf("storing the leases of servers: %w", err)
	}
	return &leases{stored, destroy}, nil
}

func key(address netip.Addr) string { return path.Join(leasesKey, address.String()) }

// renew creates or renews the lease of a server.
func (l *leases) renew(ctx context.Context, address netip.Addr) error {
	return l.storage.GuaranteedUpdate(ctx, key(address), &corev1.Endpoints{}, true, nil, func(stored runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		lease := stored.(*corev1.Endpoints)
		lease.Subsets = []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: address.String()}}}}
		lease.Generation++ // an update that changes nothing wouldn't renew the lease
		ttl := uint64(leaseTTL / time.Second)
		return lease, &ttl, nil
	}, nil)
}

// remove removes the lease of a server. A missing lease isn't an error.
func (l *leases) remove(ctx context.Context, address netip.Addr) error {
	err := l.storage.Delete(ctx, key(address), &corev1.Endpoints{}, nil, rest.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	if storage.IsNotFound(err) {
		return nil
	}
	return err
}

// live returns the addresses of the servers that have a lease, in order.
func (l *leases) live(ctx context.Context) ([]netip.Addr, error) {
	list := &corev1.EndpointsList{}
	if err := l.storage.GetList(ctx, leasesKey, storage.ListOptions{
		ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Predicate: storage.Everything, Recursive: true,
	}, list); err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, lease := range list.Items {
		if len(lease.Subsets) == 0 || len(lease.Subsets[0].Addresses) == 0 {
			continue
		}
		if address, err := netip.ParseAddr(lease.Subsets[0].Addresses[0].IP); err == nil {
			addresses = append(addresses, address)
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses, nil
}
