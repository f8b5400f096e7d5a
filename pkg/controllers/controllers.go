package controllers

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
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

// User is the user for what no controller does by its own account.
const User = "system:kube-controller-manager"

// Username is the user of a service account of the controllers.
func Username(account string) string {
	return "system:serviceaccount:" + metav1.NamespaceSystem + ":" + account
}

// Users returns the users of all controllers.
func Users() []string {
	names := []string{User}
	for _, c := range table {
		if name := c.user(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Environment is the server as controllers see it.
type Environment struct {
	// ConfigOf returns the client configuration of a user: the service account of a controller, or User.
	ConfigOf func(user string) *rest.Config
	// Discovery lists the served resources, and Mapper maps their kinds. The caller calls Set.ResourcesChanged after a change.
	Discovery discovery.DiscoveryInterface
	Mapper    meta.RESTMapper
	// Informers are shared with the rest of the server, which starts them.
	Informers informers.SharedInformerFactory
	// Objects is the source of all objects that the server stores. If it is nil, informers read all objects from the
	// server.
	Objects objects.Source
	// Elsewhere selects the resources that another server stores, whose objects Objects lacks. It returns nil if there
	// are none. With Objects, Elsewhere is required.
	Elsewhere func() func(served.Resource) bool
	// Count counts the objects of a resource in a namespace without a request, and says whether it can. May be nil.
	Count func(ctx context.Context, resource served.Resource, namespace string) (int64, bool)
	// RootCA has the certificates by which clients verify the server, in PEM.
	RootCA []byte
	// Token signs the token of a service account that a Secret keeps.
	Token func(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error)
	// Sign issues a certificate by the server's authority, in PEM: for the subject, the names and the key of a request,
	// with the usages and the times of the template.
	Sign func(request *x509.CertificateRequest, template *x509.Certificate) ([]byte, error)
	// Measure returns what the namespace of a quota uses of the quota's resources. With an error, the result has those
	// that could be measured.
	Measure func(ctx context.Context, quota *corev1.ResourceQuota) (corev1.ResourceList, error)
	// Shared is true if other servers store the same objects. One of them at a time lets its controllers work.
	Shared bool
}

// Set has the controllers of a server.
type Set struct {
	env       Environment
	runner    *work.Runner
	resources *served.Resources
	// open lets the controllers work. They are held until the start.
	open func()
	// leave is Leave. It is nil if no other server stores the same objects.
	leave func(context.Context)

	// The sources call handlers with all objects. synced is called when the handlers have received all objects of the
	// start, and forget when a restore may have brought objects back.
	sources  []objects.Source
	handlers objects.Handlers
	synced   []func()
	forget   []func()
	told     chan struct{} // closed when the handlers have been told of all objects
}

// New makes the selected controllers, which end with ctx. They do nothing before Start.
func New(ctx context.Context, selection Selection, env Environment) (*Set, error) {
	s := &Set{env: env, runner: work.NewRunner(ctx), resources: served.New(env.Discovery, env.Mapper), told: make(chan struct{})}
	s.open = s.runner.Hold()
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
	return s, nil
}

// ResourcesChanged tells the controllers that the served resources have changed.
func (s *Set) ResourcesChanged() { s.resources.Changed() }

// Start lets the controllers work. The informers must have been started.
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
	var synced sync.WaitGroup
	handler := objects.Serialized(s.handlers)
	for _, source := range s.sources {
		synced.Add(1)
		source.Follow(s.runner.Life(), handler, sync.OnceFunc(synced.Done))
	}
	s.runner.Go(func() { s.await(&synced) })
	return s.lead()
}

// await begins the work when the sources are synced, unless the controllers are closed earlier.
func (s *Set) await(synced *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		synced.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.begin()
	case <-s.runner.Life().Done():
	}
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

// Settle returns when the controllers know all objects that were stored before the call, and have no work left. Failed
// and delayed work may be left.
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

// Hold interrupts the controllers until release is called, so that a restore can replace the stored objects. At
// release, the controllers forget their knowledge of objects.
func (s *Set) Hold() (release func(context.Context) error) {
	open := s.runner.Hold()
	return func(ctx context.Context) error {
		defer open()
		err := s.settleSources(ctx)
		for _, forget := range s.forget {
			forget()
		}
		return err
	}
}

// Leave lets the controllers of another server that stores the same objects go on at once. These controllers don't work any
// more. Leave returns when the other server knows, or when ctx ends. The server must still answer requests.
func (s *Set) Leave(ctx context.Context) {
	if s.leave != nil {
		s.leave(ctx)
	}
}

// Close ends the controllers, and returns when nothing of them is left.
func (s *Set) Close() { s.runner.Close() }
