// Package loadbalancer is the controller service-lb-controller: it gives Services of type LoadBalancer an address, as the
// controller of a cloud does. The load balancers only pretend: the addresses are the cluster IPs of the Services.
//
// [New] starts the controller.
package loadbalancer

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// Account is the name of the controller's service account.
	Account = "service-controller"
	// Component is the source of the controller's Events.
	Component = "service-controller"
)

// Config has the dependencies of a controller.
type Config struct {
	Runner *work.Runner
	Client corev1client.ServicesGetter
	Events *eventrecorder.Recorder
	// Services is the informer of Services.
	Services cache.SharedIndexInformer
}

// New starts the controller.
func New(config Config) error {
	c := &controller{Config: config, services: corelisters.NewServiceLister(config.Services.GetIndexer())}
	c.queue = work.NewQueue(config.Runner, work.Options[string]{Name: Account, Workers: 1, Do: c.sync})
	return work.Enqueue(work.Events{Informer: config.Services, Changed: c.changed})
}

type controller struct {
	Config
	services corelisters.ServiceLister
	queue    *work.Queue[string]
}

func (c *controller) changed(o metav1.Object) {
	if service, ok := o.(*corev1.Service); ok && !isDone(service) {
		c.queue.Add(cache.MetaObjectToName(o).String())
	}
}

func wants(service *corev1.Service) bool { return service.Spec.Type == corev1.ServiceTypeLoadBalancer }

func has(service *corev1.Service) bool { return len(service.Status.LoadBalancer.Ingress) > 0 }

// isDone reports whether nothing is left to do for a Service. One with a class has a controller of its own.
func isDone(service *corev1.Service) bool {
	return wants(service) == has(service) || service.Spec.LoadBalancerClass != nil || service.DeletionTimestamp != nil
}

// sync writes the addresses of a Service, or removes them when its type has changed.
func (c *controller) sync(ctx context.Context, key string) (time.Duration, error) {
	name, err := cache.ParseObjectName(key)
	if err != nil {
		return 0, err
	}
	service, err := c.services.Services(name.Namespace).Get(name.Name)
	if err != nil || isDone(service) {
		return 0, work.IgnoreGone(err)
	}
	service = service.DeepCopy()
	service.Status.LoadBalancer.Ingress = nil
	before, after := "Deleting", "Deleted"
	if wants(service) {
		before, after = "Ensuring", "Ensured"
		service.Status.LoadBalancer.Ingress = addresses(service)
	}
	c.Events.Tell(service, before+"LoadBalancer", "%s load balancer", before)
	if _, err := c.Client.Services(name.Namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{}); err != nil {
		return 0, work.IgnoreStale(err)
	}
	c.Events.Tell(service, after+"LoadBalancer", "%s load balancer", after)
	return 0, nil
}

// addresses returns the address that a Service asks for, or its cluster IPs.
func addresses(service *corev1.Service) (all []corev1.LoadBalancerIngress) {
	ips := service.Spec.ClusterIPs
	if service.Spec.LoadBalancerIP != "" {
		ips = []string{service.Spec.LoadBalancerIP}
	}
	for _, ip := range ips {
		all = append(all, corev1.LoadBalancerIngress{IP: ip})
	}
	return all
}
