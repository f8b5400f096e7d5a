package controllers

import (
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/nodelifecycle"
	"github.com/miniapi-dev/miniapi/pkg/controllers/nodettl"
	"github.com/miniapi-dev/miniapi/pkg/controllers/tainteviction"
)

func addNodeLifecycle(s *Set, c *clients) error {
	client := c.core()
	return nodelifecycle.New(nodelifecycle.Config{
		Runner: s.runner,
		Client: client,
		Events: eventrecorder.NewRecorder(s.runner.Life(), client, nodelifecycle.Component),
		Nodes:  c.informers.Core().V1().Nodes().Informer(),
		Pods:   c.informers.Core().V1().Pods().Informer(),
		Leases: c.informers.Coordination().V1().Leases().Informer(),
	})
}

func addTaintEviction(s *Set, c *clients) error {
	client := c.core()
	return tainteviction.New(tainteviction.Config{
		Runner: s.runner,
		Client: client,
		Events: eventrecorder.NewRecorder(s.runner.Life(), client, tainteviction.Component),
		Nodes:  c.informers.Core().V1().Nodes().Informer(),
		Pods:   c.informers.Core().V1().Pods().Informer(),
	})
}

func addNodeTTL(s *Set, c *clients) error {
	return nodettl.New(nodettl.Config{Runner: s.runner, Client: c.core(), Nodes: c.informers.Core().V1().Nodes().Informer()})
}
