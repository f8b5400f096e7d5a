// Package endpoints is the controller endpoints-controller: it writes the addresses of a Service's pods into an Endpoints
// object, for clients that don't know EndpointSlices.
//
// [New] starts the controller.
package endpoints

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
	netutils "k8s.io/utils/net"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "endpoint-controller"
	// Component is the source of the controller's Events.
	Component = "endpoint-controller"

	managedBy = "endpoints.kubernetes.io/managed-by"

	// The values are kube-controller-manager's. workers is the number of Services that are handled at the same time, and
	// capacity the number of addresses that an Endpoints object has at most.
	workers  = 5
	capacity = 1000
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.EndpointsGetter
	Events *eventrecorder.Recorder
	// Services, Pods and Endpoints are the informers of Services, pods and Endpoints.
	Services, Pods, Endpoints cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{
		Config:    config,
		services:  corelisters.NewServiceLister(config.Services.GetIndexer()),
		pods:      corelisters.NewPodLister(config.Pods.GetIndexer()),
		endpoints: corelisters.NewEndpointsLister(config.Endpoints.GetIndexer()),
		triggers:  util.NewTriggerTimeTracker(),
	}
	c.queue = work.NewQueue(config.Runner, work.Options[cache.ObjectName]{Name: Account, Workers: workers, Do: c.sync})
	return work.Enqueue(
		work.Events{Informer: config.Services, Changed: c.enqueue, Deleted: c.enqueue},
		work.Events{
			Informer: config.Pods, Updated: c.podChanged,
			Changed: func(o metav1.Object) { c.podChanged(nil, o) }, Deleted: func(o metav1.Object) { c.podChanged(o, nil) },
		},
		work.Events{Informer: config.Endpoints, Deleted: c.enqueue},
	)
}

type controller struct {
	Config
	services  corelisters.ServiceLister
	pods      corelisters.PodLister
	endpoints corelisters.EndpointsLister
	triggers  *util.TriggerTimeTracker
	queue     *work.Queue[cache.ObjectName] // of Services
}

func (c *controller) enqueue(o metav1.Object) { c.queue.Add(cache.MetaObjectToName(o)) }

// podChanged queues the Services whose addresses the change of a pod may affect.
func (c *controller) podChanged(before, after metav1.Object) {
	services, err := util.GetServicesToUpdate(c.services, util.GetPodUpdateProjectionKey(before, after))
	if err != nil {
		return // the error is impossible: the Services are read from a store
	}
	for key := range services {
		if name, err := cache.ParseObjectName(key); err == nil {
			c.queue.Add(name)
		}
	}
}

// sync writes the Endpoints of a Service, and deletes those of a deleted Service.
func (c *controller) sync(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	service, err := c.services.Services(name.Namespace).Get(name.Name)
	if err != nil { // the Service doesn't exist
		c.triggers.DeleteService(name.Namespace, name.Name)
		return 0, work.IgnoreGone(c.Client.Endpoints(name.Namespace).Delete(ctx, name.Name, metav1.DeleteOptions{}))
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName || service.Spec.Selector == nil {
		return 0, nil
	}
	pods, err := c.pods.Pods(name.Namespace).List(labels.SelectorFromSet(service.Spec.Selector))
	if err != nil {
		return 0, err
	}
	trigger := c.triggers.ComputeEndpointLastChangeTriggerTime(name.Namespace, service, pods)
	subsets, truncated := subsetsOf(service, pods)
	existing, err := c.endpoints.Endpoints(name.Namespace).Get(name.Name)
	isNew := err != nil
	if isNew {
		existing = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name.Name}}
	}
	changed := existing.DeepCopy()
	changed.Subsets, changed.Labels = subsets, labelsOf(service)
	annotate(changed, corev1.EndpointsOverCapacity, "truncated", truncated)
	if !isNew && equality.Semantic.DeepEqual(existing.Subsets, changed.Subsets) && maps.Equal(existing.Labels, changed.Labels) &&
		maps.Equal(existing.Annotations, changed.Annotations) {
		return 0, nil
	}
	annotate(changed, corev1.EndpointsLastChangeTriggerTime, trigger.UTC().Format(time.RFC3339Nano), !trigger.IsZero())
	return 0, c.write(ctx, service, changed, isNew)
}

func annotate(endpoints *corev1.Endpoints, key, value string, set bool) {
	if set {
		metav1.SetMetaDataAnnotation(&endpoints.ObjectMeta, key, value)
	} else {
		delete(endpoints.Annotations, key)
	}
}

func (c *controller) write(ctx context.Context, service *corev1.Service, endpoints *corev1.Endpoints, isNew bool) (err error) {
	client := c.Client.Endpoints(service.Namespace)
	if isNew {
		_, err = client.Create(ctx, endpoints, metav1.CreateOptions{})
	} else {
		_, err = client.Update(ctx, endpoints, metav1.UpdateOptions{})
	}
	switch {
	case err == nil, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case isNew:
		c.Events.Warn(endpoints, "FailedToCreateEndpoint", "Failed to create endpoint for service %s/%s: %v", service.Namespace, service.Name, err)
	default:
		c.Events.Warn(endpoints, "FailedToUpdateEndpoint", "Failed to update endpoint %s/%s: %v", service.Namespace, service.Name, err)
	}
	return err
}

// labelsOf returns the labels of a Service's Endpoints.
func labelsOf(service *corev1.Service) map[string]string {
	all := map[string]string{}
	maps.Copy(all, service.Labels)
	if service.Spec.ClusterIP == corev1.ClusterIPNone || service.Spec.ClusterIP == "" {
		all[corev1.IsHeadlessService] = ""
	} else {
		delete(all, corev1.IsHeadlessService)
	}
	all[managedBy] = Component
	return all
}

// subsetsOf returns the addresses of a Service's pods. The ports of a subset are served by the same pods. If there are more
// addresses than the capacity, those that aren't ready are left out first.
func subsetsOf(service *corev1.Service, pods []*corev1.Pod) (subsets []corev1.EndpointSubset, truncated bool) {
	served := map[corev1.EndpointPort][]int{} // the pods that serve a port, as indexes
	addresses := make([]corev1.EndpointAddress, len(pods))
	for i, pod := range pods {
		address, has := addressOf(service, pod)
		if !has || !util.ShouldPodBeInEndpoints(pod, service.Spec.PublishNotReadyAddresses) {
			continue
		}
		addresses[i] = address
		for _, port := range portsOf(service, pod) {
			served[port] = append(served[port], i)
		}
	}
	byPods := map[string]*corev1.EndpointSubset{}
	for port, indexes := range served {
		key := fmt.Sprint(indexes)
		subset := byPods[key]
		if subset == nil {
			subset = &corev1.EndpointSubset{}
			byPods[key] = subset
			for _, i := range indexes {
				if service.Spec.PublishNotReadyAddresses || util.IsPodReady(pods[i]) {
					subset.Addresses = append(subset.Addresses, addresses[i])
				} else {
					subset.NotReadyAddresses = append(subset.NotReadyAddresses, addresses[i])
				}
			}
		}
		if port != noPort {
			subset.Ports = append(subset.Ports, port)
		}
	}
	all := slices.Collect(maps.Values(byPods))
	for _, subset := range all {
		slices.SortFunc(subset.Ports, comparePorts)
	}
	slices.SortFunc(all, func(a, b *corev1.EndpointSubset) int { return slices.CompareFunc(a.Ports, b.Ports, comparePorts) })
	left := capacity
	limit := func(addresses []corev1.EndpointAddress) []corev1.EndpointAddress {
		slices.SortFunc(addresses, func(a, b corev1.EndpointAddress) int {
			return cmp.Or(cmp.Compare(a.IP, b.IP), strings.Compare(a.TargetRef.Name, b.TargetRef.Name))
		})
		keep := min(left, len(addresses))
		left -= keep
		truncated = truncated || keep < len(addresses)
		return addresses[:keep:keep]
	}
	for _, subset := range all {
		subset.Addresses = limit(subset.Addresses)
	}
	for _, subset := range all {
		subset.NotReadyAddresses = limit(subset.NotReadyAddresses)
		if len(subset.Addresses)+len(subset.NotReadyAddresses) > 0 {
			subsets = append(subsets, *subset)
		}
	}
	return subsets, truncated
}

// noPort stands for the ports of a headless Service without ports.
var noPort corev1.EndpointPort

func comparePorts(a, b corev1.EndpointPort) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
}

// portsOf returns the ports of a pod that a Service uses.
func portsOf(service *corev1.Service, pod *corev1.Pod) (ports []corev1.EndpointPort) {
	if len(service.Spec.Ports) == 0 && service.Spec.ClusterIP == corev1.ClusterIPNone {
		return []corev1.EndpointPort{noPort}
	}
	for i := range service.Spec.Ports {
		port := &service.Spec.Ports[i]
		if number, err := endpointslice.FindPort(pod, port); err == nil {
			ports = append(ports, corev1.EndpointPort{Name: port.Name, Port: int32(number), Protocol: port.Protocol, AppProtocol: port.AppProtocol})
		}
	}
	return ports
}

// addressOf returns the address of a pod in the first IP family of a Service. It returns false if the pod has none.
func addressOf(service *corev1.Service, pod *corev1.Pod) (address corev1.EndpointAddress, has bool) {
	isIPv6 := netutils.IsIPv6String(pod.Status.PodIP)
	if len(service.Spec.IPFamilies) > 0 {
		isIPv6 = service.Spec.IPFamilies[0] == corev1.IPv6Protocol
	}
	i := slices.IndexFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return netutils.IsIPv6String(ip.IP) == isIPv6 })
	if i < 0 {
		return address, false
	}
	address = corev1.EndpointAddress{
		IP: pod.Status.PodIPs[i].IP, NodeName: &pod.Spec.NodeName,
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	if util.ShouldSetHostname(pod, service) {
		address.Hostname = pod.Spec.Hostname
	}
	return address, true
}
