package miniapitest

import (
	"context"
	"errors"
	"fmt"
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
	server *server.Server
	config *rest.Config
	stop   context.CancelFunc
	done   chan struct{}
	err    error

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
	completed, err := o.server.Complete()
	if err != nil {
		return nil, err
	}
	config, err := completed.Config(ctx)
	if err != nil {
		return nil, err
	}
	built, err := config.New(ctx)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{server: built, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.err = built.Run(running)
	}()
	select {
	case <-built.Ready():
	case <-s.done:
		stop()
		return nil, fmt.Errorf("the server didn't start: %w", s.err)
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), s.Stop())
	}
	s.config = built.AdminConfig()
	// A test's client shouldn't wait for its turn.
	s.config.QPS = -1
	if err := manifests.Apply(ctx, s.config, o.objects); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Stop stops the server and releases all that it holds. Further calls return what the
// first returned.
func (s *Server) Stop() error {
	s.stopOnce.Do(s.stop)
	<-s.done
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
