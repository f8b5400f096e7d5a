package controllers

import (
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/daemonset"
	"github.com/miniapi-dev/miniapi/pkg/controllers/deployment"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/owned"
	"github.com/miniapi-dev/miniapi/pkg/controllers/replicaset"
	"github.com/miniapi-dev/miniapi/pkg/controllers/statefulset"
)

// pods returns what a controller needs to create and delete pods. component is the source of its Events.
func (c *clients) pods(s *Set, component string) owned.Pods {
	client := c.core()
	return owned.Pods{Client: client, Events: eventrecorder.NewRecorder(s.runner.Life(), client, component)}
}

func addDeployments(s *Set, c *clients) error {
	return deployment.New(deployment.Config{
		Runner:      s.runner,
		Client:      connect(c, c.account, appsv1client.NewForConfig),
		Events:      eventrecorder.NewRecorder(s.runner.Life(), c.core(), deployment.Account),
		Deployments: c.informers.Apps().V1().Deployments().Informer(),
		Sets:        c.informers.Apps().V1().ReplicaSets().Informer(),
		Pods:        c.informers.Core().V1().Pods().Informer(),
	})
}

func addReplicaSets(s *Set, c *clients) error {
	return replicaset.New(replicaset.Config{
		Runner:      s.runner,
		API:         replicaset.ReplicaSets(connect(c, c.account, appsv1client.NewForConfig)),
		Pods:        c.pods(s, replicaset.Account),
		Sets:        c.informers.Apps().V1().ReplicaSets().Informer(),
		PodInformer: c.informers.Core().V1().Pods().Informer(),
	})
}

func addReplicationControllers(s *Set, c *clients) error {
	return replicaset.New(replicaset.Config{
		Runner:      s.runner,
		API:         replicaset.ReplicationControllers(c.core()),
		Pods:        c.pods(s, replicaset.ReplicationAccount),
		Sets:        c.informers.Core().V1().ReplicationControllers().Informer(),
		PodInformer: c.informers.Core().V1().Pods().Informer(),
	})
}

func addStatefulSets(s *Set, c *clients) error {
	core := c.core()
	return statefulset.New(statefulset.Config{
		Runner:    s.runner,
		Client:    connect(c, c.account, appsv1client.NewForConfig),
		Core:      core,
		Events:    eventrecorder.NewRecorder(s.runner.Life(), core, statefulset.Account),
		Sets:      c.informers.Apps().V1().StatefulSets().Informer(),
		Revisions: c.informers.Apps().V1().ControllerRevisions().Informer(),
		Pods:      c.informers.Core().V1().Pods().Informer(),
		Claims:    c.informers.Core().V1().PersistentVolumeClaims().Informer(),
	})
}

func addDaemonSets(s *Set, c *clients) error {
	return daemonset.New(daemonset.Config{
		Runner:      s.runner,
		Client:      connect(c, c.account, appsv1client.NewForConfig),
		Pods:        c.pods(s, daemonset.Component),
		Sets:        c.informers.Apps().V1().DaemonSets().Informer(),
		Revisions:   c.informers.Apps().V1().ControllerRevisions().Informer(),
		PodInformer: c.informers.Core().V1().Pods().Informer(),
		Nodes:       c.informers.Core().V1().Nodes().Informer(),
	})
}
