package bootstrap

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/kubernetes"
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
	err := ensureNamespaces(ctx, client)
	return utilerrors.NewAggregate([]error{err, ensure(tasks(ctx, client, config), func(t task) bool { return t.needed })})
}

// Maintain ensures the objects that kube-apiserver creates again when a client deletes them, and restores when a client
// changes them.
func Maintain(ctx context.Context, client kubernetes.Interface, config Config) error {
	return ensure(tasks(ctx, client, config), func(t task) bool { return t.needed && t.maintained })
}

// task ensures some of the objects.
type task struct {
	needed     bool
	maintained bool
	run        func() error
}

func tasks(ctx context.Context, client kubernetes.Interface, config Config) []task {
	return []task{
		{config.served(rbacResources...), false, func() error { return ensureRBAC(ctx, client) }},
		{config.served(priorityClasses...), false, func() error { return ensurePriorityClasses(ctx, client) }},
		{config.hasStorageClass(), false, func() error { return create(ctx, config.StorageClass, client.StorageV1().StorageClasses().Create) }},
		{config.served(flowControlResources...), false, func() error { return ensureFlowControl(ctx, client) }},
		{true, false, func() error { return ensureTokenTracking(ctx, client.CoreV1().ConfigMaps(metav1.NamespaceSystem)) }},
		{true, true, func() error { return EnsureTrust(ctx, client.CoreV1().ConfigMaps(metav1.NamespaceSystem), config) }},
		{config.hasService(), true, func() error { return ensureService(ctx, client, config) }},
		{len(config.Endpoints) > 0, true, func() error { return EnsureEndpoints(ctx, client, config) }},
	}
}

func ensure(tasks []task, selected func(task) bool) error {
	var run []func() error
	for _, t := range tasks {
		if selected(t) {
			run = append(run, t.run)
		}
	}
	return utilerrors.AggregateGoroutines(run...)
}

// maintained names the objects that Maintain ensures.
var maintained = map[schema.GroupResource]types.NamespacedName{
	{Resource: "configmaps"}: {Namespace: metav1.NamespaceSystem, Name: authenticationConfigMap},
	{Resource: "services"}:   {Namespace: metav1.NamespaceDefault, Name: apiService},
	{Resource: "endpoints"}:  {Namespace: metav1.NamespaceDefault, Name: apiService},
	{Group: discoveryv1.GroupName, Resource: "endpointslices"}: {Namespace: metav1.NamespaceDefault, Name: apiService},
	{Group: networkingv1.GroupName, Resource: "servicecidrs"}:  {Name: apiService},
}

// IsMaintained reports whether Maintain ensures an object.
func IsMaintained(resource schema.GroupResource, object metav1.Object) bool {
	name, ok := maintained[resource]
	return ok && name == types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
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
