package service

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// portLedger implements ledger for node ports. The entry that reserves a port is a Lease in etcd below
// portPrefix, which no API serves. The name of the Lease is the port, and its holder is the service. The store of
// the Leases is opened at its first use, because most servers never allocate a node port.
type portLedger struct {
	options generic.RESTOptions

	mu      sync.Mutex
	store   storage.Interface
	destroy factory.DestroyFunc
}

var _ ledger = &portLedger{}

// portPrefix is the path in etcd of the Leases that reserve node ports. It is below the prefix of all objects of the
// server.
const portPrefix = "/ranges/servicenodeports"

func newPortLedger(getter generic.RESTOptionsGetter) (*portLedger, error) {
	resource := schema.GroupResource{Group: coordinationv1.GroupName, Resource: "servicenodeportallocations"}
	options, err := getter.GetRESTOptions(resource, &coordinationv1.Lease{})
	if err != nil {
		return nil, fmt.Errorf("storage options of node ports: %w", err)
	}
	return &portLedger{options: options}, nil
}

func (l *portLedger) open() (storage.Interface, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.store != nil {
		return l.store, nil
	}
	key := func(obj runtime.Object) (string, error) { return portKey(registry.MetaOf(obj).GetName()), nil }
	attributes := func(runtime.Object) (labels.Set, fields.Set, error) { return labels.Set{}, fields.Set{}, nil }
	store, destroy, err := l.options.Decorator(l.options.StorageConfig, portPrefix, key,
		registry.NewOf(&coordinationv1.Lease{}), registry.NewOf(&coordinationv1.LeaseList{}), attributes, nil, nil)
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

func portKey(port string) string { return portPrefix + "/" + port }

func (l *portLedger) add(ctx context.Context, key string, owner types.NamespacedName) error {
	store, err := l.open()
	if err != nil {
		return err
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: key, CreationTimestamp: metav1.NewTime(time.Now())},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(owner.String())},
	}
	err = store.Create(ctx, portKey(key), lease, nil, 0)
	if storage.IsExist(err) {
		return errReserved
	}
	return err
}

func (l *portLedger) get(ctx context.Context, key string, cached bool) (*reservation, error) {
	store, err := l.open()
	if err != nil {
		return nil, err
	}
	var options storage.GetOptions
	if cached {
		options.ResourceVersion = "0"
	}
	lease := &coordinationv1.Lease{}
	err = store.Get(ctx, portKey(key), options, lease)
	if storage.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	namespace, name, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), string(types.Separator))
	return &reservation{
		owner:           types.NamespacedName{Namespace: namespace, Name: name},
		since:           lease.CreationTimestamp,
		resourceVersion: lease.ResourceVersion,
	}, nil
}

func (l *portLedger) remove(ctx context.Context, key string, certain *reservation) error {
	store, err := l.open()
	if err != nil {
		return err
	}
	var preconditions *storage.Preconditions
	if certain != nil {
		preconditions = &storage.Preconditions{ResourceVersion: &certain.resourceVersion}
	}
	err = store.Delete(ctx, portKey(key), &coordinationv1.Lease{}, preconditions, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
	if storage.IsNotFound(err) || certain != nil && storage.IsInvalidObj(err) {
		return nil
	}
	return err
}
