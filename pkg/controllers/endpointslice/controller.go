// Package endpointslice is the controller endpointslice-controller: it writes the addresses of a Service's pods into
// EndpointSlices.
//
// [New] starts the controller. The module k8s.io/endpointslice has the rules.
package endpointslice

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/topologycache"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "endpointslice-controller"
	// Component is the source of the controller's Events.
	Component = "endpoint-slice-controller"

	// manager is the value of the label endpointslice.kubernetes.io/managed-by.
	manager = "endpointslice-controller.k8s.io"

	// The values are kube-controller-manager's. workers is the number of Services that are handled at the same time.
	// foreignDelay is the time after which a change by another client is undone.
	workers      = 5
	maxEndpoints = 100
	foreignDelay = time.Second
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client discoveryv1client.DiscoveryV1Interface
	Events *eventrecorder.Recorder
	// Services, Pods, Nodes and Slices are the informers of Services, pods, nodes and EndpointSlices.
	Services, Pods, Nodes, Slices cache.SharedIndexInformer
}

// clientset gives the reconciler its client. The reconciler uses no other API group.
type clientset struct {
	kubernetes.Interface
	client discoveryv1client.DiscoveryV1Interface
}

// DiscoveryV1 implements kubernetes.Interface.
func (c clientset) DiscoveryV1() discoveryv1client.DiscoveryV1Interface { return c.client }

// New starts the controller.
func New(config Config) (err error) {
	c := &controller{
		events:   config.Events,
		services: corelisters.NewServiceLister(config.Services.GetIndexer()),
		pods:     corelisters.NewPodLister(config.Pods.GetIndexer()),
		nodes:    corelisters.NewNodeLister(config.Nodes.GetIndexer()),
		slices:   discoverylisters.NewEndpointSliceLister(config.Slices.GetIndexer()),
		written:  util.NewEndpointSliceTracker(), triggers: util.NewTriggerTimeTracker(), topology: topologycache.NewTopologyCache(),
	}
	c.reconciler = endpointslice.NewReconciler(clientset{client: config.Client}, c.nodes, maxEndpoints, c.written, c.topology, c.events, manager,
		endpointslice.WithPreferSameTrafficDistributionEnabled(true))
	c.queue = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: workers, Do: c.sync})
	return work.Enqueue(
		work.Events{Informer: config.Services, Changed: c.serviceChanged, Deleted: c.serviceChanged},
		work.Events{Informer: config.Pods, Changed: c.podAdded, Updated: c.podUpdated, Deleted: c.podDeleted},
		work.Events{Informer: config.Slices, Changed: c.sliceAdded, Updated: c.sliceUpdated, Deleted: c.sliceDeleted},
		work.Events{Informer: config.Nodes, Changed: c.nodesChanged, Updated: c.nodeUpdated, Deleted: c.nodesChanged},
	)
}

type controller struct {
	events   *eventrecorder.Recorder
	services corelisters.ServiceLister
	pods     corelisters.PodLister
	nodes    corelisters.NodeLister
	slices   discoverylisters.EndpointSliceLister

	reconciler *endpointslice.Reconciler
	// written has the EndpointSlices that the controller has written, triggers the times of the changes that led to the
	// writes, and topology the nodes of each zone.
	written  *util.EndpointSliceTracker
	triggers *util.TriggerTimeTracker
	topology *topologycache.TopologyCache

	queue *work.Queue[string] // of Services
}

func (c *controller) serviceChanged(o metav1.Object) { c.queue.Add(cache.MetaObjectToName(o).String()) }

func (c *controller) podAdded(o metav1.Object)           { c.podChanged(nil, o) }
func (c *controller) podDeleted(o metav1.Object)         { c.podChanged(o, nil) }
func (c *controller) podUpdated(before, o metav1.Object) { c.podChanged(before, o) }

// podChanged queues the Services whose addresses the change of a pod may affect.
func (c *controller) podChanged(before, after metav1.Object) {
	services, err := util.GetServicesToUpdate(c.services, util.GetPodUpdateProjectionKey(before, after))
	if err != nil {
		return // the error is impossible: the Services are read from a store
	}
	for key := range services {
		c.queue.Add(key)
	}
}

func (c *controller) sliceAdded(o metav1.Object) {
	if slice, ok := o.(*discoveryv1.EndpointSlice); ok && c.reconciler.ManagedByController(slice) && c.written.ShouldSync(slice) {
		c.undo(slice)
	}
}

func (c *controller) sliceUpdated(before, o metav1.Object) {
	old, ok := before.(*discoveryv1.EndpointSlice)
	slice, isSlice := o.(*discoveryv1.EndpointSlice)
	if !ok || !isSlice {
		return
	}
	if old.Labels[discoveryv1.LabelServiceName] != slice.Labels[discoveryv1.LabelServiceName] {
		c.undo(slice)
		c.undo(old)
		return
	}
	if c.reconciler.ManagedByChanged(old, slice) || c.reconciler.ManagedByController(slice) && c.written.ShouldSync(slice) {
		c.undo(slice)
	}
}

func (c *controller) sliceDeleted(o metav1.Object) {
	slice, ok := o.(*discoveryv1.EndpointSlice)
	if ok && c.reconciler.ManagedByController(slice) && c.written.Has(slice) && !c.written.HandleDeletion(slice) {
		c.undo(slice)
	}
}

// undo queues the Service of an EndpointSlice that another client has changed.
func (c *controller) undo(slice *discoveryv1.EndpointSlice) {
	if key, err := endpointslice.ServiceControllerKey(slice); err == nil {
		c.queue.AddAfter(key, foreignDelay)
	}
}

func (c *controller) nodeUpdated(before, after metav1.Object) {
	old, ok := before.(*corev1.Node)
	node, isNode := after.(*corev1.Node)
	if ok && isNode && (isReady(old) != isReady(node) || old.Labels[corev1.LabelTopologyZone] != node.Labels[corev1.LabelTopologyZone]) {
		c.nodesChanged(after)
	}
}

// nodesChanged tells the hints of topology about the nodes.
func (c *controller) nodesChanged(metav1.Object) {
	nodes, err := c.nodes.List(labels.Everything())
	if err != nil {
		return // the error is impossible: the nodes are read from a store
	}
	c.topology.SetNodes(klog.Background(), nodes)
	for _, key := range c.topology.GetOverloadedServices() {
		c.queue.Add(key)
	}
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// errStale is the error of a sync that would miss the controller's own writes. It is tried again.
var errStale = errors.New("the EndpointSlices in the informer are older than those that the controller has written")

// sync writes the EndpointSlices of a Service. The garbage collector deletes those of a deleted Service.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	name, err := cache.ParseObjectName(key)
	if err != nil {
		return 0, err
	}
	service, err := c.services.Services(name.Namespace).Get(name.Name)
	if err != nil { // the Service doesn't exist
		c.triggers.DeleteService(name.Namespace, name.Name)
		c.reconciler.DeleteService(name.Namespace, name.Name)
		c.written.DeleteService(name.Namespace, name.Name)
		return 0, nil
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName || service.Spec.Selector == nil {
		return 0, nil
	}
	pods, err := c.pods.Pods(name.Namespace).List(labels.SelectorFromSet(service.Spec.Selector))
	if err != nil {
		return 0, err
	}
	existing, err := c.slices.EndpointSlices(name.Namespace).List(labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: name.Name, discoveryv1.LabelManagedBy: manager,
	}))
	if err != nil {
		return 0, err
	}
	existing = slices.DeleteFunc(existing, func(slice *discoveryv1.EndpointSlice) bool { return slice.DeletionTimestamp != nil })
	if c.written.StaleSlices(service, existing) {
		return 0, errStale
	}
	trigger := c.triggers.ComputeEndpointLastChangeTriggerTime(name.Namespace, service, pods)
	if err := c.reconciler.Reconcile(klog.FromContext(ctx), service, pods, existing, trigger); err != nil {
		c.events.Warn(service, "FailedToUpdateEndpointSlices", "Error updating Endpoint Slices for Service %s/%s: %v", service.Namespace, service.Name, err)
		return 0, err
	}
	return 0, nil
}
