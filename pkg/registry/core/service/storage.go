package service

import (
	"context"
	"net"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Network has the ranges for addresses and ports of services.
type Network struct {
	// ClusterIPs are the ranges of cluster IPs, at most one for each IP family. The preferred family comes first.
	ClusterIPs []*net.IPNet
	NodePorts  utilnet.PortRange
	// Addresses writes IPAddress objects through the API of this server, and so through admission. If Addresses is
	// nil, the server writes IPAddress objects without admission.
	Addresses IPAddressWriter
}

// IPAddressWriter creates and deletes IPAddress objects.
type IPAddressWriter interface {
	Create(ctx context.Context, address *networkingv1.IPAddress, options metav1.CreateOptions) (*networkingv1.IPAddress, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// serviceStorage is the storage of services, which also allocates cluster IPs and node ports. The allocation runs
// after mutating admission, which can still request addresses and ports. It runs before validating admission, which
// gets the service with the allocated addresses and ports.
type serviceStorage struct {
	*registry.Storage
	allocator *serviceAllocator
	portStore *portLedger
	endpoints *registry.Storage
}

var _ rest.StandardStorage = &serviceStorage{}

func newServiceStorage(main *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	// Only the main endpoint allocates addresses and ports. The status endpoint doesn't change the spec.
	allocating := *main.Store
	s := &serviceStorage{Storage: &registry.Storage{Store: &allocating, Kind: main.Kind, Strategy: main.Strategy}}
	stores := map[schema.GroupResource]*registry.Storage{}
	for _, resource := range []schema.GroupResource{
		corev1.Resource("endpoints"), networkingv1.Resource("ipaddresses"), networkingv1.Resource("servicecidrs"),
	} {
		store, err := deps.StoreOf(resource)
		if err != nil {
			return nil, err
		}
		stores[resource] = store
	}
	s.endpoints = stores[corev1.Resource("endpoints")]
	var err error
	network := registry.PartOf[Network](deps)
	if s.portStore, err = newPortLedger(deps.RESTOptions, network.NodePorts, main.Store); err != nil {
		return nil, err
	}
	nets, err := prefixes(network.ClusterIPs)
	if err != nil {
		return nil, err
	}
	addresses := stores[networkingv1.Resource("ipaddresses")].Store
	ledger := addressLedger{IPAddressWriter: addressWriter{addresses}, addresses: addresses}
	if network.Addresses != nil {
		ledger.IPAddressWriter = network.Addresses
	}
	s.allocator = &serviceAllocator{
		ips: clusterIPs{
			reservations: reservations{ledger: ledger, services: main.Store, uses: usesIP},
			cidrs:        stores[networkingv1.Resource("servicecidrs")].Store,
			nets:         nets,
		},
		ports: nodePorts{
			reservations: reservations{ledger: s.portStore, services: main.Store, uses: usesPort},
			ports:        network.NodePorts,
		},
	}
	for _, prefix := range nets {
		s.allocator.families = append(s.allocator.families, familyOf(prefix.Addr()))
	}
	allocating.BeginCreate, allocating.BeginUpdate = s.beginCreate, s.beginUpdate
	// An update that removes the last finalizer of a deleted service removes the service. The update can come
	// through the main endpoint or the status endpoint, so both endpoints release the addresses and ports.
	afterDelete := s.afterDelete(main.AfterDelete)
	for _, store := range []*genericregistry.Store{main.Store, &allocating} {
		store.AfterDelete, store.Decorator = afterDelete, s.allocator.families.completeAll
	}
	return s, nil
}

// Destroy implements rest.Storage. It also closes the store of the reserved ports.
func (s *serviceStorage) Destroy() {
	s.portStore.close()
	s.Storage.Destroy()
}

// attempt is the latest attempt of an update. The store reports an attempt as successful before it writes the object.
// If the object has changed meanwhile, the write fails, and the store begins another attempt. Therefore, an attempt has
// failed if another attempt begins.
type attempt struct{ last *allocation }

type attemptKey struct{}

// start ends the previous attempt, which has failed, and begins a new one.
func (a *attempt) start() {
	if a.last != nil {
		a.last.finish(beside(), false)
		a.last = nil
	}
}

// Update updates a service. After the write, it releases addresses and ports that the service no longer needs.
func (s *serviceStorage) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	try := &attempt{}
	obj, created, err := s.Storage.Update(context.WithValue(ctx, attemptKey{}, try), name, objInfo, createValidation, updateValidation, forceAllowCreate, options)
	if try.last != nil {
		try.last.finish(beside(), err == nil)
	}
	return obj, created, err
}

func (s *serviceStorage) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
	service := obj.(*corev1.Service)
	// An IPAddress can't refer to a service without a valid name, which validation refuses next. Until then, such a
	// service gets addresses and ports that aren't reserved.
	nameless := service.Name == "" || len(content.IsPathSegmentName(service.Name)) > 0
	if service.Namespace == "" {
		// A reservation contains the service's namespace. In some calls, the service has no namespace yet.
		service.Namespace = genericapirequest.NamespaceValue(ctx)
	}
	return begin(ctx, func() (*allocation, error) {
		return s.allocator.create(beside(), service, nameless || dryrun.IsDryRun(options.DryRun))
	})
}

func (s *serviceStorage) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (genericregistry.FinishFunc, error) {
	return begin(ctx, func() (*allocation, error) {
		return s.allocator.update(beside(), obj.(*corev1.Service), old.(*corev1.Service), dryrun.IsDryRun(options.DryRun))
	})
}

// begin allocates addresses and ports for a create, or for an attempt of an update.
func begin(ctx context.Context, allocate func() (*allocation, error)) (genericregistry.FinishFunc, error) {
	try, _ := ctx.Value(attemptKey{}).(*attempt)
	if try != nil {
		try.start()
	}
	allocated, err := allocate()
	if err != nil {
		return nil, err
	}
	if try == nil {
		return func(_ context.Context, stored bool) { allocated.finish(beside(), stored) }, nil
	}
	try.last = allocated
	return func(_ context.Context, willBeStored bool) {
		if !willBeStored {
			allocated.finish(beside(), false)
		}
	}, nil
}

// afterDelete releases the addresses and ports of a deleted service. It also deletes the service's endpoints, so
// that a new service of the same name doesn't get them.
func (s *serviceStorage) afterDelete(next genericregistry.AfterDeleteFunc) genericregistry.AfterDeleteFunc {
	return func(obj runtime.Object, options *metav1.DeleteOptions) {
		if !dryrun.IsDryRun(options.DryRun) {
			service := obj.(*corev1.Service)
			s.allocator.families.complete(service)
			ctx := genericapirequest.WithNamespace(beside(), service.Namespace)
			_, _, err := s.endpoints.Delete(ctx, service.Name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				utilruntime.HandleErrorWithContext(ctx, err, "deleting the endpoints of a service", "service", ownerOf(service))
			}
			s.allocator.release(ctx, service)
		}
		next(obj, options)
	}
}

// beside returns a context for work that must be completed even if its request ends. The context has none of the
// request's values, because the writes of IPAddresses are requests of their own.
func beside() context.Context { return context.Background() }
