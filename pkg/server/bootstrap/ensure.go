package bootstrap

import (
	"context"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	typednetworkingv1 "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/util/retry"
)

// workers is the largest number of concurrent requests of a call of reconcile. The store writes concurrent changes
// together, so several workers are faster than one.
const workers = 8

// Ensure creates missing objects, and reconciles stored objects that differ from the defaults. A server should call
// Ensure at each start, before the server reports that it is ready. If all objects are up to date, Ensure only reads:
// it makes a few list and get requests. The client should have no rate limit, and its user should have all permissions.
// After an error, such as a refusal by a webhook, Ensure continues with the other objects; the returned error is an
// aggregate of all errors.
func Ensure(ctx context.Context, client kubernetes.Interface, config Config) error {
	// Namespaces must exist before the objects in them.
	errs := []error{ensureNamespaces(ctx, client)}
	var tasks []func() error
	for _, task := range []struct {
		needed bool
		run    func() error
	}{
		{config.served(rbacResources...), func() error { return ensureRBAC(ctx, client) }},
		{config.served(priorityClasses...), func() error { return ensurePriorityClasses(ctx, client) }},
		{config.served(flowControlResources...), func() error { return ensureFlowControl(ctx, client) }},
		{true, func() error { return ensureConfigMaps(ctx, client, config) }},
		{config.hasService(), func() error { return ensureService(ctx, client, config) }},
		{config.AdvertiseAddress.IsValid(), func() error { return ensureEndpoints(ctx, client, config) }},
	} {
		if task.needed {
			tasks = append(tasks, task.run)
		}
	}
	return utilerrors.NewAggregate(append(errs, utilerrors.AggregateGoroutines(tasks...)))
}

func ensureNamespaces(ctx context.Context, client kubernetes.Interface) error {
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	return reconcile(ctx, Namespaces(), list.Items, client.CoreV1().Namespaces().Create, asItIs[*corev1.Namespace])
}

func ensurePriorityClasses(ctx context.Context, client kubernetes.Interface) error {
	list, err := client.SchedulingV1().PriorityClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list priority classes: %w", err)
	}
	return reconcile(ctx, systemPriorityClasses(), list.Items, client.SchedulingV1().PriorityClasses().Create, asItIs[*schedulingv1.PriorityClass])
}

func ensureConfigMaps(ctx context.Context, client kubernetes.Interface, config Config) error {
	return utilerrors.NewAggregate([]error{
		ensureTokenTracking(ctx, client.CoreV1().ConfigMaps(metav1.NamespaceSystem)),
		EnsureTrust(ctx, client.CoreV1().ConfigMaps(metav1.NamespaceSystem), config),
	})
}

// EnsureTrust publishes the config's ClientCA and RequestHeader for extension API servers. The argument configMaps must
// be a client for kube-system.
func EnsureTrust(ctx context.Context, configMaps typedv1.ConfigMapInterface, config Config) error {
	trust, err := config.authenticationConfigMap()
	if err != nil {
		return err
	}
	return createOrUpdate(ctx, trust, object[*corev1.ConfigMap]{
		get: configMaps.Get, create: configMaps.Create, update: configMaps.Update,
		// Without RequestHeader, the ConfigMap keeps the certificates that another server may have published.
		merge: func(have *corev1.ConfigMap) {
			have.Data = with(have.Data, trust.Data)
		},
	})
}

// ensureTokenTracking creates the ConfigMap with the date since which servers record the use of legacy tokens. It
// doesn't change an existing ConfigMap, because the date must stay.
func ensureTokenTracking(ctx context.Context, configMaps typedv1.ConfigMapInterface) error {
	_, err := configMaps.Get(ctx, tokenTrackingConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return create(ctx, tokenTracking(time.Now()), configMaps.Create)
	}
	if err != nil {
		return fmt.Errorf("get config map %s: %w", tokenTrackingConfigMap, err)
	}
	return nil
}

func ensureService(ctx context.Context, client kubernetes.Interface, config Config) error {
	if err := ensureServiceCIDR(ctx, client, config.serviceCIDR()); err != nil {
		return err
	}
	services := client.CoreV1().Services(metav1.NamespaceDefault)
	want := config.service()
	return createOrUpdate(ctx, want, object[*corev1.Service]{
		get: services.Get, create: services.Create, update: services.Update,
		merge: func(have *corev1.Service) { // the API refuses another address for an existing Service
			have.Spec.Type, have.Spec.Ports = want.Spec.Type, want.Spec.Ports
		},
	})
}

// ensureServiceCIDR creates the default ServiceCIDR. It changes an existing ServiceCIDR only by adding a second range,
// because ranges can't be changed while they are in use.
func ensureServiceCIDR(ctx context.Context, client kubernetes.Interface, want *networkingv1.ServiceCIDR) error {
	cidrs := client.NetworkingV1().ServiceCIDRs()
	have, err := cidrs.Get(ctx, want.Name, metav1.GetOptions{})
	if err == nil {
		return addSecondRange(ctx, cidrs, have, want)
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("get service CIDR %s: %w", want.Name, err)
	}
	created, err := cidrs.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create service CIDR %s: %w", want.Name, err)
	}
	created.Status = want.Status
	if _, err := cidrs.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update status of service CIDR %s: %w", want.Name, err)
	}
	return nil
}

// addSecondRange adds the second of the wanted ranges to a ServiceCIDR with only the first range. The cluster is
// dual-stack afterwards.
func addSecondRange(ctx context.Context, cidrs typednetworkingv1.ServiceCIDRInterface, have, want *networkingv1.ServiceCIDR) error {
	if len(have.Spec.CIDRs) != 1 || len(want.Spec.CIDRs) != 2 || have.Spec.CIDRs[0] != want.Spec.CIDRs[0] {
		return nil
	}
	updated := have.DeepCopy()
	updated.Spec.CIDRs = want.Spec.CIDRs
	if _, err := cidrs.Update(ctx, updated, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("add range %s to service CIDR %s: %w", want.Spec.CIDRs[1], want.Name, err)
	}
	return nil
}

func ensureEndpoints(ctx context.Context, client kubernetes.Interface, config Config) error {
	endpoints := client.CoreV1().Endpoints(metav1.NamespaceDefault)
	want := config.endpoints()
	err := createOrUpdate(ctx, want, object[*corev1.Endpoints]{
		get: endpoints.Get, create: endpoints.Create, update: endpoints.Update,
		merge: func(have *corev1.Endpoints) {
			have.Labels = with(have.Labels, want.Labels)
			have.Subsets = want.Subsets
		},
	})
	if err != nil || !config.served(endpointSlices...) {
		return err
	}
	return ensureEndpointSlice(ctx, client, config)
}

func ensureEndpointSlice(ctx context.Context, client kubernetes.Interface, config Config) error {
	slices := client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	want := config.endpointSlice()
	have, err := slices.Get(ctx, want.Name, metav1.GetOptions{})
	// The API refuses another address type for an existing slice, so delete the slice first.
	if err == nil && have.AddressType != want.AddressType {
		if err := slices.Delete(ctx, want.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete endpoint slice %s: %w", want.Name, err)
		}
	}
	return createOrUpdate(ctx, want, object[*discoveryv1.EndpointSlice]{
		get: slices.Get, create: slices.Create, update: slices.Update,
		merge: func(have *discoveryv1.EndpointSlice) {
			have.Labels = with(have.Labels, want.Labels)
			have.Endpoints, have.Ports = want.Endpoints, want.Ports
		},
	})
}

// asItIs is a merge function for objects that Ensure must not change.
func asItIs[P any](P, P) error { return nil }

// with returns a copy of the map labels. The entries of the map more are added to the copy.
func with(labels, more map[string]string) map[string]string {
	merged := maps.Clone(labels)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, more)
	return merged
}

// create creates an object. If the object exists, another server may have created it, and create returns no error.
func create[P metav1.Object](ctx context.Context, want P, do func(context.Context, P, metav1.CreateOptions) (P, error)) error {
	if _, err := do(ctx, want, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %T %s: %w", want, want.GetName(), err)
	}
	return nil
}

// object has the requests by which createOrUpdate reads and writes an object. It also has the function merge, which
// changes an existing object to the wanted object.
type object[P metav1.Object] struct {
	get    func(context.Context, string, metav1.GetOptions) (P, error)
	create func(context.Context, P, metav1.CreateOptions) (P, error)
	update func(context.Context, P, metav1.UpdateOptions) (P, error)
	merge  func(have P)
}

// mayBeRace tells whether another server that starts on the same etcd may have caused the error. The other server may
// have written the object, or have taken a value such as the Service's address.
func mayBeRace(err error) bool { return apierrors.IsConflict(err) || apierrors.IsInvalid(err) }

func createOrUpdate[P interface {
	metav1.Object
	DeepCopy() P
}](ctx context.Context, want P, with object[P]) error {
	return retry.OnError(retry.DefaultBackoff, mayBeRace, func() error {
		have, err := with.get(ctx, want.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return create(ctx, want, with.create)
		}
		if err != nil {
			return fmt.Errorf("get %T %s: %w", want, want.GetName(), err)
		}
		updated := have.DeepCopy()
		with.merge(updated)
		if equality.Semantic.DeepEqual(have, updated) {
			return nil
		}
		if _, err := with.update(ctx, updated, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update %T %s: %w", want, want.GetName(), err)
		}
		return nil
	})
}

// reconcile creates each wanted object that isn't in the list, and calls merge for each wanted object that is in the
// list.
func reconcile[T any, P interface {
	*T
	metav1.Object
}](ctx context.Context, want []P, list []T, do func(context.Context, P, metav1.CreateOptions) (P, error), merge func(want, have P) error) error {
	have := map[string]P{}
	for i := range list {
		have[P(&list[i]).GetName()] = &list[i]
	}
	var group errgroup.Group
	group.SetLimit(workers)
	errs := make([]error, len(want))
	for i, object := range want {
		group.Go(func() error {
			existing := have[object.GetName()]
			if existing == nil {
				errs[i] = create(ctx, object, do)
			} else if err := merge(object, existing); err != nil {
				errs[i] = fmt.Errorf("reconcile %T %s: %w", object, object.GetName(), err)
			}
			return ctx.Err()
		})
	}
	return utilerrors.NewAggregate(append(errs, group.Wait()))
}
