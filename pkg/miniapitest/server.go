package miniapitest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// Server is a running API server.
type Server struct {
	server   *server.Server
	webhooks *webhookServer
	config   *rest.Config
	stop     context.CancelFunc
	done     chan struct{} // closed when the server has ended
	stopped  chan struct{} // closed when nothing is left
	err      error

	stopOnce sync.Once
}

// Start starts a server for a test, and stops it when the test and its subtests have
// ended. A server that can't start fails the test at once, with why.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	// Not t.Context(): that ends before cleanup, when clients may still be at work.
	s, err := New(context.WithoutCancel(t.Context()), opts...)
	if err != nil {
		t.Fatalf("miniapitest: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("miniapitest: stopping: %v", err)
		}
	})
	return s
}

// New starts a server, which the caller must stop. The context bounds the start alone.
func New(ctx context.Context, opts ...Option) (*Server, error) {
	o := newOptions()
	for _, opt := range opts {
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	webhooks, err := newWebhookServer()
	if err != nil {
		return nil, err
	}
	built, err := o.build(ctx, webhooks)
	if err != nil {
		return nil, errors.Join(err, webhooks.close())
	}
	s := &Server{server: built, webhooks: webhooks, done: make(chan struct{}), stopped: make(chan struct{})}
	s.config = built.AdminConfig()
	// A test's client shouldn't wait for its turn.
	s.config.QPS = -1
	if err := s.start(ctx, o); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// build takes the options to a server that can run and webhooks that answer it.
func (o *options) build(ctx context.Context, webhooks *webhookServer) (*server.Server, error) {
	o.resolveServices(webhooks.address())
	completed, err := o.server.Complete()
	if err != nil {
		return nil, err
	}
	config, err := completed.Config(ctx)
	if err != nil {
		return nil, err
	}
	for path, handler := range o.handlers {
		webhooks.handle(path, handler)
	}
	webhooks.serve(config)
	return config.New(ctx)
}

// start returns when the server is as the options want it.
func (s *Server) start(ctx context.Context, o *options) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	go func() {
		defer close(s.done)
		s.err = s.server.Run(running)
	}()
	select {
	case <-s.server.Ready():
	case <-s.done:
		return errors.New("the server didn't start") // Stop says why
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := manifests.Apply(ctx, s.config, append(o.objects, o.configurations...)); err != nil {
		return err
	}
	for _, webhook := range o.webhooks {
		if err := reach(ctx, s.server, webhook); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops the server and releases all that it holds. Further calls return what the
// first returned.
func (s *Server) Stop() error {
	s.stopOnce.Do(func() {
		s.stop()
		<-s.done
		s.err = errors.Join(s.err, s.webhooks.close())
		close(s.stopped)
	})
	<-s.stopped
	return s.err
}

// Config is a client configuration for the admin, without a rate limit. Each call
// returns a copy.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.config) }

// AddUser returns a client configuration for a user with a client certificate. What
// the user may do is for RBAC objects to say.
func (s *Server) AddUser(name string, groups ...string) (*rest.Config, error) {
	config, err := s.server.UserConfig(name, groups...)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// Client is a typed client of the admin.
func (s *Server) Client() kubernetes.Interface {
	// The configuration is our own: it can't be refused.
	return kubernetes.NewForConfigOrDie(s.Config())
}

// DynamicClient is a dynamic client of the admin.
func (s *Server) DynamicClient() dynamic.Interface { return dynamic.NewForConfigOrDie(s.Config()) }
