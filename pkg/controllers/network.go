package controllers

import (
	discoveryv1client "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/endpoints"
	"github.com/miniapi-dev/miniapi/pkg/controllers/endpointslice"
	"github.com/miniapi-dev/miniapi/pkg/controllers/endpointslicemirroring"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/loadbalancer"
)

func addEndpointSlices(s *Set, c *clients) error {
	return endpointslice.New(endpointslice.Config{
		Runner:   s.runner,
		Client:   connect(c, c.account, discoveryv1client.NewForConfig),
		Events:   eventrecorder.NewRecorder(s.runner.Life(), c.core(), endpointslice.Component),
		Services: c.informers.Core().V1().Services().Informer(),
		Pods:     c.informers.Core().V1().Pods().Informer(),
		Nodes:    c.informers.Core().V1().Nodes().Informer(),
		Slices:   c.informers.Discovery().V1().EndpointSlices().Informer(),
	})
}

func addEndpoints(s *Set, c *clients) error {
	client := c.core()
	return endpoints.New(endpoints.Config{
		Runner:    s.runner,
		Client:    client,
		Events:    eventrecorder.NewRecorder(s.runner.Life(), client, endpoints.Component),
		Services:  c.informers.Core().V1().Services().Informer(),
		Pods:      c.informers.Core().V1().Pods().Informer(),
		Endpoints: c.informers.Core().V1().Endpoints().Informer(),
	})
}

func addEndpointSliceMirroring(s *Set, c *clients) error {
	return endpointslicemirroring.New(endpointslicemirroring.Config{
		Runner:    s.runner,
		Client:    connect(c, c.account, discoveryv1client.NewForConfig),
		Events:    eventrecorder.NewRecorder(s.runner.Life(), c.core(), endpointslicemirroring.Component),
		Services:  c.informers.Core().V1().Services().Informer(),
		Endpoints: c.informers.Core().V1().Endpoints().Informer(),
		Slices:    c.informers.Discovery().V1().EndpointSlices().Informer(),
	})
}

func addLoadBalancers(s *Set, c *clients) error {
	client := c.core()
	return loadbalancer.New(loadbalancer.Config{
		Runner:   s.runner,
		Client:   client,
		Events:   eventrecorder.NewRecorder(s.runner.Life(), client, loadbalancer.Component),
		Services: c.informers.Core().V1().Services().Informer(),
	})
}
