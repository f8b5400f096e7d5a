package service

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// portLedger implements ledger for node ports. Its entries are the bits of one RangeAllocation, which no API serves: the
// bit i stands for the port i of the range. kube-apiserver has the same object, so both can share an etcd. The object
// doesn't say which service has a port. The store is opened at its first use, because most servers never allocate a node
// port.
type portLedger struct {
	options  generic.RESTOptions
	ports    utilnet.PortRange
	services *genericregistry.Store

	mu      sync.Mutex
	store   storage.Interface
	destroy factory.DestroyFunc
}

var _ ledger = &portLedger{}

const (
	rangesPrefix = "/ranges"
	// portsKey is the path in etcd of the RangeAllocation, below the prefix of all objects of the server.
	portsKey = rangesPrefix + "/servicenodeports"
)

// rangeAllocations is the list of a RangeAllocation alone, for the watch cache of an external etcd.
type rangeAllocations struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []corev1.RangeAllocation
}

// DeepCopyObject implements runtime.Object.
func (r *rangeAllocations) DeepCopyObject() runtime.Object {
	list := &rangeAllocations{TypeMeta: r.TypeMeta, ListMeta: *r.ListMeta.DeepCopy()}
	for i := range r.Items {
		list.Items = append(list.Items, *r.Items[i].DeepCopy())
	}
	return list
}

func newPortLedger(getter generic.RESTOptionsGetter, ports utilnet.PortRange, services *genericregistry.Store) (*portLedger, error) {
	options, err := getter.GetRESTOptions(corev1.Resource("servicenodeportallocations"), &corev1.RangeAllocation{})
	if err != nil {
		return nil, fmt.Errorf("storage options of node ports: %w", err)
	}
	return &portLedger{options: options, ports: ports, services: services}, nil
}

func (l *portLedger) open() (storage.Interface, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store != nil {
		return l.store, nil
	}
	key := func(runtime.Object) (string, error) { return portsKey, nil }
	attributes := func(runtime.Object) (labels.Set, fields.Set, error) { return labels.Set{}, fields.Set{}, nil }
	store, destroy, err := l.options.Decorator(l.options.StorageConfig, rangesPrefix, key,
		registry.NewOf(&corev1.RangeAllocation{}), registry.NewOf(&rangeAllocations{}), attributes, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("opening the storage of node ports: %w", err)
	}
	l.store, l.destroy = store, destroy
	return store, nil
}

// close destroys the store, if it was opened.
func (l *portLedger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.destroy != nil {
		l.destroy()
	}
}

// bit returns the number of a port in the range.
func (l *portLedger) bit(key string) (int, bool) {
	port, err := strconv.Atoi(key)
	return port - l.ports.Base, err == nil && l.ports.Contains(port)
}

func (l *portLedger) add(ctx context.Context, key string, _ types.NamespacedName) error {
	i, ok := l.bit(key)
	if !ok {
		return fmt.Errorf("port %s isn't in the range %s", key, l.ports.String())
	}
	return l.update(ctx, nil, func(allocated *big.Int) error {
		if allocated.Bit(i) == 1 {
			return errReserved
		}
		allocated.SetBit(allocated, i, 1)
		return nil
	})
}

func (l *portLedger) get(ctx context.Context, key string, _ bool) (*reservation, error) {
	store, err := l.open()
	if err != nil {
		return nil, err
	}
	stored := &corev1.RangeAllocation{}
	if err := store.Get(ctx, portsKey, storage.GetOptions{IgnoreNotFound: true}, stored); err != nil {
		return nil, err
	}
	i, ok := l.bit(key)
	if !ok || stored.Range != l.ports.String() || new(big.Int).SetBytes(stored.Data).Bit(i) == 0 {
		return nil, nil
	}
	return &reservation{anonymous: true, resourceVersion: stored.ResourceVersion}, nil
}

func (l *portLedger) remove(ctx context.Context, key string, certain *reservation) error {
	i, ok := l.bit(key)
	if !ok {
		return nil
	}
	var preconditions *storage.Preconditions
	if certain != nil {
		preconditions = &storage.Preconditions{ResourceVersion: &certain.resourceVersion}
	}
	err := l.update(ctx, preconditions, func(allocated *big.Int) error {
		allocated.SetBit(allocated, i, 0)
		return nil
	})
	if certain != nil && storage.IsInvalidObj(err) {
		return nil
	}
	return err
}

// update changes the set of the allocated ports.
func (l *portLedger) update(ctx context.Context, preconditions *storage.Preconditions, change func(allocated *big.Int) error) error {
	store, err := l.open()
	if err != nil {
		return err
	}
	return store.GuaranteedUpdate(ctx, portsKey, &corev1.RangeAllocation{}, true, preconditions, storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
		stored := obj.(*corev1.RangeAllocation)
		allocated, err := l.allocated(ctx, stored)
		if err != nil {
			return nil, err
		}
		if err := change(allocated); err != nil {
			return nil, err
		}
		stored.Range, stored.Data = l.ports.String(), allocated.Bytes()
		return stored, nil
	}), nil)
}

// allocated returns the set of the allocated ports. If the stored set is missing, or is of another range, the services
// tell which ports they have.
func (l *portLedger) allocated(ctx context.Context, stored *corev1.RangeAllocation) (*big.Int, error) {
	if stored.Range == l.ports.String() {
		return new(big.Int).SetBytes(stored.Data), nil
	}
	list, err := l.services.List(genericapirequest.WithNamespace(ctx, metav1.NamespaceAll), nil)
	if err != nil {
		return nil, fmt.Errorf("listing the services that have node ports: %w", err)
	}
	allocated := new(big.Int)
	for i := range list.(*corev1.ServiceList).Items {
		s := &list.(*corev1.ServiceList).Items[i]
		for _, port := range append(nodePortsOf(s), s.Spec.HealthCheckNodePort) {
			if i, ok := l.bit(strconv.Itoa(int(port))); ok {
				allocated.SetBit(allocated, i, 1)
			}
		}
	}
	return allocated, nil
}
