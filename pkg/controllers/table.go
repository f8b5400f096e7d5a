package controllers

import (
	"slices"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	certificatesv1client "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	storagemigrationv1client "k8s.io/client-go/kubernetes/typed/storagemigration/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/scale"

	"github.com/miniapi-dev/miniapi/pkg/controllers/certificatesigningrequests"
	"github.com/miniapi-dev/miniapi/pkg/controllers/clusterroles"
	"github.com/miniapi-dev/miniapi/pkg/controllers/defaultserviceaccount"
	"github.com/miniapi-dev/miniapi/pkg/controllers/disruption"
	"github.com/miniapi-dev/miniapi/pkg/controllers/eventrecorder"
	"github.com/miniapi-dev/miniapi/pkg/controllers/garbage"
	"github.com/miniapi-dev/miniapi/pkg/controllers/namespace"
	"github.com/miniapi-dev/miniapi/pkg/controllers/podgc"
	"github.com/miniapi-dev/miniapi/pkg/controllers/quota"
	"github.com/miniapi-dev/miniapi/pkg/controllers/rootca"
	"github.com/miniapi-dev/miniapi/pkg/controllers/storagemigration"
	"github.com/miniapi-dev/miniapi/pkg/controllers/tokens"
)

// controller is a row of the table of all controllers.
type controller struct {
	// group is All or Workloads.
	group, name string
	// account is the name of the controller's service account. If account is "", the controller makes its requests
	// as the user User. former is the name of the controller in older versions of Kubernetes.
	account, former string
	// add makes the controller.
	add func(*Set, *clients) error
}

func (c controller) is(name string) bool {
	return name != "" && slices.Contains([]string{c.name, c.account, c.former}, name)
}

// user returns the name of the user that the controller's requests have.
func (c controller) user() string {
	if c.account == "" {
		return User
	}
	return Username(c.account)
}

// clients makes the clients of a controller, and collects the errors. Most clients use the configuration in account,
// for requests as the controller's service account. Some requests need permissions that this account doesn't have:
// their clients use the configuration in user. A controller gets one client for each API group that it needs, because a
// clientset of all groups takes 100 kB.
type clients struct {
	account, user *rest.Config
	informers     informers.SharedInformerFactory
	errs          []error
}

// connect makes a client of one API group.
func connect[Client any](c *clients, config *rest.Config, newFor func(*rest.Config) (Client, error)) Client {
	client, err := newFor(config)
	if err != nil {
		c.errs = append(c.errs, err)
	}
	return client
}

func (c *clients) core() *corev1client.CoreV1Client {
	return connect(c, c.account, corev1client.NewForConfig)
}

func (c *clients) metadata() metadata.Interface { return connect(c, c.account, metadata.NewForConfig) }

// table has all controllers, under the names that kube-controller-manager gives them.
var table = slices.Concat(machinery, workloads)

// machinery are the controllers that the API itself needs.
var machinery = []controller{
	{All, "namespace-controller", namespace.Name, "namespace", addNamespace},
	{All, "garbage-collector-controller", garbage.Name, "garbagecollector", addGarbage},
	{All, "serviceaccount-controller", defaultserviceaccount.Account, "serviceaccount", addServiceAccount},
	{All, "serviceaccount-token-controller", "", "serviceaccount-token", addTokens},
	{All, "root-ca-certificate-publisher-controller", rootca.Account, "root-ca-cert-publisher", addRootCA},
	{All, "pod-garbage-collector-controller", podgc.Account, "podgc", addPodGC},
	{All, "resourcequota-controller", quota.Account, "resourcequota", addQuota},
	{All, "disruption-controller", disruption.Account, "disruption", addDisruption},
	{All, "clusterrole-aggregation-controller", clusterroles.Account, "clusterrole-aggregation", addClusterRoles},
	{All, "certificatesigningrequest-approving-controller", certificatesigningrequests.Account, "csrapproving",
		addCertificates(certificatesigningrequests.NewApprover)},
	{All, "certificatesigningrequest-signing-controller", certificatesigningrequests.Account, "csrsigning",
		addCertificates(certificatesigningrequests.NewSigner)},
	{All, "certificatesigningrequest-cleaner-controller", certificatesigningrequests.Account, "csrcleaner",
		addCertificates(certificatesigningrequests.NewCleaner)},
	{All, "storage-version-migrator-controller", storagemigration.Account, "svm", addStorageMigration},
}

func addNamespace(s *Set, c *clients) error {
	added, err := namespace.New(namespace.Config{
		Runner:     s.runner,
		Client:     c.core(),
		Metadata:   c.metadata(),
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

func addServiceAccount(s *Set, c *clients) error {
	return defaultserviceaccount.New(defaultserviceaccount.Config{
		Runner:     s.runner,
		Client:     c.core(),
		Namespaces: c.informers.Core().V1().Namespaces().Informer(),
		Accounts:   c.informers.Core().V1().ServiceAccounts().Informer(),
	})
}

func addTokens(s *Set, c *clients) error {
	s.handlers = append(s.handlers, tokens.New(tokens.Config{
		Runner: s.runner,
		Client: c.core(),
		RootCA: s.env.RootCA,
		Token:  s.env.Token,
	}))
	return nil
}

func addRootCA(s *Set, c *clients) error {
	handler, err := rootca.New(rootca.Config{
		Runner:     s.runner,
		Client:     c.core(),
		Reader:     connect(c, c.user, corev1client.NewForConfig),
		Namespaces: c.informers.Core().V1().Namespaces().Informer(),
		RootCA:     s.env.RootCA,
	})
	s.handlers = append(s.handlers, handler)
	return err
}

func addPodGC(s *Set, c *clients) error {
	return podgc.New(podgc.Config{
		Runner: s.runner,
		Client: c.core(),
		Leases: connect(c, c.user, coordinationv1client.NewForConfig),
		Pods:   c.informers.Core().V1().Pods().Informer(),
		Nodes:  c.informers.Core().V1().Nodes().Informer(),
	})
}

func addQuota(s *Set, c *clients) error {
	handler, err := quota.New(quota.Config{
		Runner:  s.runner,
		Client:  c.core(),
		Quotas:  c.informers.Core().V1().ResourceQuotas().Informer(),
		Measure: s.env.Measure,
	})
	s.handlers = append(s.handlers, handler)
	return err
}

// scales makes a client of the subresource scale of all resources.
func (s *Set) scales(c *clients) (scale.ScalesGetter, error) {
	return scale.NewForConfig(c.account, s.env.Mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(s.env.Discovery))
}

func addDisruption(s *Set, c *clients) error {
	scales, err := s.scales(c)
	if err != nil {
		return err
	}
	pods := c.core()
	return disruption.New(disruption.Config{
		Runner:    s.runner,
		Client:    connect(c, c.account, policyv1client.NewForConfig),
		PodClient: pods,
		Events:    eventrecorder.NewRecorder(s.runner.Life(), pods, disruption.Component),
		Scales: disruption.Scales{
			ReplicaSets: connect(c, c.account, appsv1client.NewForConfig),
			Discovery:   s.env.Discovery,
			Scale:       scales,
			ResourceOf:  s.resources.ResourceOf,
		},
		Budgets: c.informers.Policy().V1().PodDisruptionBudgets().Informer(),
		Pods:    c.informers.Core().V1().Pods().Informer(),
	})
}

func addClusterRoles(s *Set, c *clients) error {
	return clusterroles.New(clusterroles.Config{Runner: s.runner, Client: connect(c, c.account, rbacv1client.NewForConfig), Roles: c.informers.Rbac().V1().ClusterRoles().Informer()})
}

func addCertificates(add func(certificatesigningrequests.Config) error) func(*Set, *clients) error {
	return func(s *Set, c *clients) error {
		return add(certificatesigningrequests.Config{
			Runner:   s.runner,
			Client:   connect(c, c.account, certificatesv1client.NewForConfig),
			Reviews:  connect(c, c.account, authorizationv1client.NewForConfig),
			Requests: c.informers.Certificates().V1().CertificateSigningRequests().Informer(),
			Sign:     s.env.Sign,
		})
	}
}

func addGarbage(s *Set, c *clients) error {
	collector := garbage.New(garbage.Config{
		Runner:    s.runner,
		Client:    c.metadata(),
		Resources: s.resources,
		Events:    eventrecorder.NewRecorder(s.runner.Life(), c.core(), garbage.Component),
	})
	s.handlers = append(s.handlers, collector.Handler())
	s.synced = append(s.synced, collector.Begin)
	s.forget = append(s.forget, collector.Forget)
	return nil
}

func addStorageMigration(s *Set, c *clients) error {
	s.handlers = append(s.handlers, storagemigration.New(storagemigration.Config{
		Runner:     s.runner,
		Migrations: connect(c, c.account, storagemigrationv1client.NewForConfig),
		Dynamic:    connect(c, c.account, dynamic.NewForConfig),
		Metadata:   c.metadata(),
		Resources:  s.resources,
	}))
	return nil
}
