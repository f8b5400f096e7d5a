// Package endpointslicemirroring is the controller endpointslice-mirroring-controller: it writes the addresses of Endpoints
// into EndpointSlices, if their Service has no selector.
//
// [New] starts the controller.
package endpointslicemirroring

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "endpointslicemirroring-controller"
	// Component is the source of the controller's Events.
	Component = "endpoint-slice-mirroring-controller"

	// manager is the value of the label endpointslice.kubernetes.io/managed-by.
	manager = "endpointslicemirroring-controller.k8s.io"

	// The values are kube-controller-manager's. workers is the number of Endpoints that are handled at the same time, and
	// maxEndpoints the number of addresses of a subset that are mirrored.
	workers      = 5
	maxEndpoints = 1000
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client discoveryv1client.EndpointSlicesGetter
	Events *eventrecorder.Recorder
	// Services, Endpoints and Slices are the informers of Services, Endpoints and EndpointSlices.
	Services, Endpoints, Slices cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{
		Config:    config,
		services:  corelisters.NewServiceLister(config.Services.GetIndexer()),
		endpoints: corelisters.NewEndpointsLister(config.Endpoints.GetIndexer()),
		slices:    discoverylisters.NewEndpointSliceLister(config.Slices.GetIndexer()),
		written:   util.NewEndpointSliceTracker(),
	}
	c.queue = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: workers, Do: c.sync})
	return work.Enqueue(
		work.Events{Informer: config.Services, Changed: c.serviceChanged, Deleted: c.serviceChanged, Updated: c.serviceUpdated},
		work.Events{Informer: config.Endpoints, Changed: c.endpointsChanged, Deleted: c.endpointsChanged, Updated: c.endpointsUpdated},
		work.Events{Informer: config.Slices, Changed: c.sliceAdded, Deleted: c.sliceDeleted, Updated: c.sliceUpdated},
	)
}

type controller struct {
	Config
	services  corelisters.ServiceLister
	endpoints corelisters.EndpointsLister
	slices    discoverylisters.EndpointSliceLister
	// written has the EndpointSlices that the controller has written.
	written *util.EndpointSliceTracker
	queue   *work.Queue[string] // of Endpoints
}

func (c *controller) add(o metav1.Object) { c.queue.Add(cache.MetaObjectToName(o).String()) }

func hasSelector(o metav1.Object) bool {
	service, ok := o.(*corev1.Service)
	return ok && service.Spec.Selector != nil
}

func (c *controller) serviceChanged(o metav1.Object) {
	if !hasSelector(o) {
		c.add(o)
	}
}

func (c *controller) serviceUpdated(before, after metav1.Object) {
	if hasSelector(before) != hasSelector(after) {
		c.add(after)
	}
}

// mirrors reports whether Endpoints are mirrored. Those of Services with a selector say that they aren't.
func mirrors(o metav1.Object) bool {
	_, isLock := o.GetAnnotations()[resourcelock.LeaderElectionRecordAnnotationKey]
	return o.GetLabels()[discoveryv1.LabelSkipMirror] != "true" && !isLock
}

func (c *controller) endpointsChanged(o metav1.Object) {
	if mirrors(o) {
		c.add(o)
	}
}

func (c *controller) endpointsUpdated(before, after metav1.Object) {
	if mirrors(before) || mirrors(after) {
		c.add(after)
	}
}

func isMirror(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == manager
}

func (c *controller) sliceAdded(o metav1.Object) {
	if slice, ok := o.(*discoveryv1.EndpointSlice); ok && isMirror(slice) && c.written.ShouldSync(slice) {
		c.undo(slice)
	}
}

func (c *controller) sliceUpdated(before, o metav1.Object) {
	old, ok := before.(*discoveryv1.EndpointSlice)
	slice, isSlice := o.(*discoveryv1.EndpointSlice)
	switch {
	case !ok || !isSlice:
	case old.Labels[discoveryv1.LabelServiceName] != slice.Labels[discoveryv1.LabelServiceName]:
		c.undo(slice)
		c.undo(old)
	case isMirror(old) != isMirror(slice) || isMirror(slice) && c.written.ShouldSync(slice):
		c.undo(slice)
	}
}

func (c *controller) sliceDeleted(o metav1.Object) {
	slice, ok := o.(*discoveryv1.EndpointSlice)
	if ok && isMirror(slice) && c.written.Has(slice) && !c.written.HandleDeletion(slice) {
		c.undo(slice)
	}
}

// undo queues the Endpoints of an EndpointSlice that another client has changed.
func (c *controller) undo(slice *discoveryv1.EndpointSlice) {
	if key, err := endpointslice.ServiceControllerKey(slice); err == nil {
		c.queue.Add(key)
	}
}

// errStale is the error of a sync that would miss the controller's own writes. It is tried again.
var errStale = errors.New("the EndpointSlices in the informer are older than those that the controller has written")

// sync writes the EndpointSlices of Endpoints, or deletes them if the Endpoints aren't mirrored.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	name, err := cache.ParseObjectName(key)
	if err != nil {
		return 0, err
	}
	existing, err := c.slices.EndpointSlices(name.Namespace).List(labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: name.Name, discoveryv1.LabelManagedBy: manager,
	}))
	if err != nil {
		return 0, err
	}
	endpoints, missing := c.endpoints.Endpoints(name.Namespace).Get(name.Name)
	service, gone := c.services.Services(name.Namespace).Get(name.Name)
	if missing != nil || gone != nil || !mirrors(endpoints) || service.Spec.Selector != nil {
		c.written.DeleteService(name.Namespace, name.Name)
		return 0, c.remove(ctx, existing)
	}
	if c.written.StaleSlices(service, existing) {
		return 0, errStale
	}
	return 0, c.write(ctx, endpoints, existing)
}

func (c *controller) remove(ctx context.Context, all []*discoveryv1.EndpointSlice) error {
	var errs []error
	for _, slice := range all {
		errs = append(errs, work.IgnoreGone(c.Client.EndpointSlices(slice.Namespace).Delete(ctx, slice.Name, metav1.DeleteOptions{})))
	}
	return errors.Join(errs...)
}
