package controllers

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/controllers/garbage"
	"github.com/miniapi-dev/miniapi/pkg/controllers/objects"
	"github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// User is the user name of requests that controllers don't make with a service account of their own.
const User = "system:kube-controller-manager"

// Username returns the user name of a controller's service account.
func Username(account string) string {
	return "system:serviceaccount:" + metav1.NamespaceSystem + ":" + account
}

// Environment has everything that controllers need from their server.
type Environment struct {
	// ConfigOf returns the client configuration of a user: of User, of a service account, or of a user that a component
	// names.
	ConfigOf func(user string) *rest.Config
	// Discovery lists the served resources, and Mapper maps their kinds. When they change, the server calls
	// Set.ResourcesChanged.
	Discovery discovery.DiscoveryInterface
	Mapper    meta.RESTMapper
	// Informers are shared with the rest of the server, which starts them.
	Informers informers.SharedInformerFactory
	// Objects reports to the controllers every object that the server stores. If Objects is nil, informers read all
	// objects through the API.
	Objects objects.Source
	// Elsewhere returns a filter that selects the resources of other servers (see APIService). Objects doesn't
	// report the objects of these resources. Elsewhere returns nil if no other server serves a resource. Elsewhere
	// is required if Objects isn't nil.
	Elsewhere func() func(served.Resource) bool
	// Count returns the number of objects of a resource in a namespace, without a request. It returns false if the
	// number isn't available without a request. Count may be nil.
	Count func(ctx context.Context, resource served.Resource, namespace string) (int64, bool)
	// Address is the host and port at which programs of this machine reach the server.
	Address string
	// RootCA has the certificates by which clients verify the server, in PEM.
	RootCA []byte
	// Token signs a token of a service account, for a Secret of the type service-account-token.
	Token func(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error)
	// Sign issues a certificate, in PEM, by the server's certificate authority. The request has the subject, the
	// names and the key. The template has the usages and the times.
	Sign func(request *x509.CertificateRequest, template *x509.Certificate) ([]byte, error)
	// Measure returns the usage of the resources that a quota limits, in the quota's namespace. If it returns an
	// error, the result has the resources that could be measured.
	Measure func(ctx context.Context, quota *corev1.ResourceQuota) (corev1.ResourceList, error)
	// Shared is true if other servers with the same etcd may run the same controllers. Then a Lease decides which
	// server's controllers work.
	Shared bool
	// CatchUp returns when Informers have the objects that are stored at the call, also those of other servers. It is
	// required if Shared is true.
	CatchUp func(ctx context.Context) error
	// Components work with the controllers.
	Components []Component
}

// Set is the set of the controllers of a server.
type Set struct {
	env       Environment
	runner    *work.Runner
	resources *served.Resources
	// open releases the present hold of runner (see work.Runner.Hold). The controllers are on hold before Start, and
	// while another server has the Lease.
	open func()
	// leave implements Leave. It is nil if no other server shares the etcd.
	leave func(context.Context)

	// The sources call the handlers with all objects. The functions in synced are called when the handlers have
	// received every object that existed at the start. The functions in forget are called when a restored snapshot
	// may have brought deleted objects back, and those in lost when another server may do the work.
	sources  []objects.Source
	handlers objects.Handlers
	synced   []func()
	forget   []func()
	lost     []func()
	told     chan struct{} // closed when the handlers have received all objects of the start
}

// New makes the selected controllers. They do nothing before Start, and end with ctx.
func New(ctx context.Context, selection Selection, env Environment) (*Set, error) {
	s := &Set{env: env, runner: work.NewRunner(ctx), resources: served.New(env.Discovery, env.Mapper), told: make(chan struct{})}
	var err error
	if s.open, err = s.runner.Hold(ctx); err != nil {
		s.Close()
		return nil, err
	}
	for _, c := range table {
		if !selection.selects(c) {
			continue
		}
		clients := &clients{account: env.ConfigOf(c.user()), user: env.ConfigOf(User), informers: env.Informers}
		err := c.add(s, clients)
		if err := errors.Join(append(clients.errs, err)...); err != nil {
			s.Close()
			return nil, fmt.Errorf("controller %s: %w", c.name, err)
		}
	}
	for _, c := range env.Components {
		if err := s.add(c); err != nil {
			s.Close()
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return s, nil
}

// ResourcesChanged must be called when the served resources have changed.
func (s *Set) ResourcesChanged() { s.resources.Changed() }

// Start lets the controllers work. The caller must start the informers before Start.
func (s *Set) Start() error {
	if len(s.handlers) == 0 {
		s.begin()
		return s.lead()
	}
	elsewhere, err := metadata.NewForConfig(s.env.ConfigOf(Username(garbage.Name)))
	if err != nil {
		return err
	}
	informers := &objects.Informers{Runner: s.runner, Client: elsewhere, Resources: s.resources, Select: allResources}
	if s.env.Objects != nil {
		informers.Select = s.env.Elsewhere
		s.sources = append(s.sources, s.env.Objects)
	}
	s.sources = append(s.sources, informers)
	var synced []<-chan struct{}
	handler := objects.Serialized(s.handlers)
	for _, source := range s.sources {
		done := make(chan struct{})
		synced = append(synced, done)
		source.Follow(s.runner.Life(), handler, sync.OnceFunc(func() { close(done) }))
	}
	s.runner.Go(func() { s.await(synced) })
	return s.lead()
}

// await waits until the sources have delivered all objects, and then begins the work. synced has a channel of each
// source. If the controllers are closed before, await returns without beginning the work.
func (s *Set) await(synced []<-chan struct{}) {
	for _, done := range synced {
		select {
		case <-done:
		case <-s.runner.Life().Done():
			return
		}
	}
	s.begin()
}

func allResources() func(served.Resource) bool {
	return func(served.Resource) bool { return true }
}

func (s *Set) begin() {
	for _, synced := range s.synced {
		synced()
	}
	close(s.told)
}

// Settle waits until the controllers have handled everything that was stored before the call. Work that has failed,
// or that is delayed, may be left. Work on objects that an informer hasn't reported yet may be left, too.
func (s *Set) Settle(ctx context.Context) error {
	select {
	case <-s.told:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.settleSources(ctx); err != nil {
		return err
	}
	return s.runner.Drain(ctx)
}

func (s *Set) settleSources(ctx context.Context) error {
	for _, source := range s.sources {
		if err := source.Settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Hold interrupts the controllers until release is called. The server holds them while it restores a snapshot. release
// waits until the controllers have received the restored objects. It then makes the controllers forget which objects
// were absent, because the restore may have brought these objects back.
func (s *Set) Hold() (release func(context.Context) error) {
	open, err := s.runner.Hold(s.runner.Life())
	if err != nil { // the controllers have ended, so nothing needs to be held
		open = func() {}
	}
	return func(ctx context.Context) error {
		defer open()
		err := s.settleSources(ctx)
		for _, forget := range s.forget {
			forget()
		}
		return err
	}
}

// Leave gives up the Lease, so that the controllers of another server can work at once. The controllers of this
// server don't work afterwards. Leave returns when the Lease is released, or when ctx ends. The server must still
// answer requests.
func (s *Set) Leave(ctx context.Context) {
	if s.leave != nil {
		s.leave(ctx)
	}
}

// Close ends the controllers. When it returns, all their goroutines have ended.
func (s *Set) Close() { s.runner.Close() }
