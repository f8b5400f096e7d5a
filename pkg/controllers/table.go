package controllers

import (
	"slices"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/miniapi-dev/miniapi/pkg/controllers/events"
	"github.com/miniapi-dev/miniapi/pkg/controllers/garbage"
	"github.com/miniapi-dev/miniapi/pkg/controllers/namespace"
	"github.com/miniapi-dev/miniapi/pkg/controllers/podgc"
	"github.com/miniapi-dev/miniapi/pkg/controllers/rootca"
	"github.com/miniapi-dev/miniapi/pkg/controllers/serviceaccount"
	"github.com/miniapi-dev/miniapi/pkg/controllers/tokens"
)

// controller is a controller of the table.
type controller struct {
	name string
	// account is the name of its service account, "" for User. former is the name that it had in earlier versions.
	account, former string
	// add makes the controller.
	add func(*Set, clients) error
}

func (c controller) is(name string) bool {
	return name != "" && slices.Contains([]string{c.name, c.account, c.former}, name)
}

// user is the user of the controller's requests.
func (c controller) user() string {
	if c.account == "" {
		return User
	}
	return Username(c.account)
}

// clients are those of a controller. Its service account may write what it has to, and User may read the rest.
type clients struct {
	kubernetes.Interface
	user      kubernetes.Interface
	metadata  metadata.Interface
	informers informers.SharedInformerFactory
}

// table has all controllers. The names are those of kube-controller-manager.
var table = []controller{
	{"namespace-controller", namespace.Name, "namespace", addNamespace},
	{"garbage-collector-controller", garbage.Name, "garbagecollector", addGarbage},
	{"serviceaccount-controller", serviceaccount.Account, "serviceaccount", addServiceAccount},
	{"serviceaccount-token-controller", "", "serviceaccount-token", addTokens},
	{"root-ca-certificate-publisher-controller", rootca.Account, "root-ca-cert-publisher", addRootCA},
	{"pod-garbage-collector-controller", podgc.Account, "podgc", addPodGC},
}

func addNamespace(s *Set, c clients) error {
	added, err := namespace.New(namespace.Config{
		Runner:     s.runner,
		Client:     c,
		Metadata:   c.metadata,
		Resources:  s.resources,
		Namespaces: c.informers.Core().V1().Namespaces().Informer(),
		Count:      s.env.Count,
		Shared:     s.env.Shared,
	})
	if err == nil {
		s.handlers = append(s.handlers, added.Handler())
	}
	return err
}

func addServiceAccount(s *Set, c clients) error {
	return serviceaccount.New(serviceaccount.Config{
		Runner:     s.runner,
		Client:     c.CoreV1(),
		Namespaces: c.informers.Core().V1().Namespaces().Informer(),
		Accounts:   c.informers.Core().V1().ServiceAccounts().Informer(),
	})
}

func addTokens(s *Set, c clients) error {
	s.handlers = append(s.handlers, tokens.New(tokens.Config{
		Runner: s.runner,
		Client: c.CoreV1(),
		RootCA: s.env.RootCA,
		Token:  s.env.Token,
	}))
	return nil
}

func addRootCA(s *Set, c clients) error {
	handler, err := rootca.New(rootca.Config{
		Runner:     s.runner,
		Client:     c.CoreV1(),
		Reader:     c.user.CoreV1(),
		Namespaces: c.informers.Core().V1().Namespaces().Informer(),
		RootCA:     s.env.RootCA,
	})
	s.handlers = append(s.handlers, handler)
	return err
}

func addPodGC(s *Set, c clients) error {
	return podgc.New(podgc.Config{
		Runner: s.runner,
		Client: c.CoreV1(),
		Leases: c.user.CoordinationV1(),
		Pods:   c.informers.Core().V1().Pods().Informer(),
		Nodes:  c.informers.Core().V1().Nodes().Informer(),
	})
}

func addGarbage(s *Set, c clients) error {
	collector := garbage.New(garbage.Config{
		Runner:    s.runner,
		Client:    c.metadata,
		Resources: s.resources,
		Events:    events.NewRecorder(s.runner.Life(), c.CoreV1(), garbage.Component),
	})
	s.handlers = append(s.handlers, collector.Handler())
	s.synced = append(s.synced, collector.Begin)
	s.forget = append(s.forget, collector.Forget)
	return nil
}
