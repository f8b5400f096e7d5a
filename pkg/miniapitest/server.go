package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Server is a running API server.
type Server struct {
	server   *server.Server
	webhooks *webhookServer
	config   *rest.Config
	folder   *folder   // of KubeconfigFile; nil before prepare
	started  *Snapshot // for Reset; nil with an external etcd

	stop     context.CancelFunc
	running  *run
	log      *serverLog
	origin   *origin // nil if the fixture itself stops the server
	stopOnce func() error

	mu    sync.Mutex
	users map[string]*rest.Config
}

// run is the run of a server. It doesn't refer to the Server, so that the garbage collector can find a lost Server.
type run struct {
	ended chan struct{} // closed when the server has ended
	err   error         // set before ended is closed
}

// Start starts a server for a test, and stops it when the test and its subtests have ended. If the server can't start,
// the test fails at once, with the reason. If the test fails, its output has the end of the server's log. Where there
// is no test, as in TestMain, call Main, or New and Stop.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	// t.Context() ends before the cleanup, while clients may still be at work.
	s, err := start(context.WithoutCancel(t.Context()), nil, opts)
	if err != nil {
		t.Fatalf("miniapitest: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("miniapitest: stopping: %v", err)
		}
		if log := s.log.unread(); t.Failed() && log != "" {
			t.Logf("miniapitest: the server's log:\n%s", log)
		}
	})
	return s
}

// starts has a place for each server that is starting. A start is work for the processors of the process: more starts
// at a time only take longer, until etcd's requests time out.
var starts = make(chan struct{}, 2*runtime.GOMAXPROCS(0))

// New starts a server. The caller must call Stop. New is for Ginkgo's BeforeSuite and other places without a
// testing.TB. The context bounds the start alone. A server that isn't stopped is reported on standard error: when
// nothing refers to it any more, or by the next process that starts a server.
func New(ctx context.Context, opts ...Option) (*Server, error) {
	o := newOrigin()
	s, err := start(ctx, o, opts)
	if err == nil {
		o.watch(s)
	}
	return s, err
}

func start(ctx context.Context, origin *origin, opts []Option) (*Server, error) {
	o := newOptions()
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("option %d is nil", i+1)
		}
		if err := opt(o); err != nil {
			return nil, err
		}
	}
	select {
	case starts <- struct{}{}:
	case <-ctx.Done():
		return nil, ended(ctx, errors.New("nothing has been started yet"))
	}
	next := sync.OnceFunc(func() { <-starts })
	defer next()
	defer reserveHeap(&firstReserved)()
	log := &serverLog{to: o.logTo}
	processKlog.attach(log)
	s, err := o.start(log.context(ctx), origin, next)
	if err != nil {
		processKlog.detach(log)
		return nil, log.explain(ended(ctx, err))
	}
	s.log = log
	s.stopOnce = sync.OnceValue(func() error {
		if origin != nil {
			origin.stopped.Store(true)
		}
		defer processKlog.detach(log)
		return s.stopAll()
	})
	return s, nil
}

// ended adds to an error that the context of the start has ended, if it has.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("the context of the start has ended (%w): %w", context.Cause(ctx), err)
}

// start starts a server. After an error, nothing is left. start calls ready when the rest takes time but no processor,
// for example because a webhook doesn't listen yet.
func (o *options) start(ctx context.Context, origin *origin, ready func()) (*Server, error) {
	if err := errors.Join(o.checkCalled(), o.checkReplaced()); err != nil {
		return nil, err
	}
	webhooks, err := newWebhookServer(o.handlers)
	if err != nil {
		return nil, err
	}
	built, err := o.build(ctx, webhooks)
	if err != nil {
		return nil, errors.Join(err, webhooks.close())
	}
	s := &Server{server: built, webhooks: webhooks, config: built.AdminConfig(), origin: origin, users: map[string]*rest.Config{}}
	// A client with a rate limit would delay the test.
	s.config.QPS = -1
	s.begin(ctx)
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.stopAll())
	}
	ready()
	if err := s.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, s.stopAll())
	}
	return s, nil
}

// build makes a server from the options, and starts to serve the webhooks.
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
	if o.auditSink != nil {
		config.AuditTo(o.auditSink, o.auditPolicy)
	}
	webhooks.serve(config)
	return config.New(ctx)
}

func (s *Server) begin(ctx context.Context) {
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	run, server := &run{ended: make(chan struct{})}, s.server
	s.running = run
	go func() {
		defer close(run.ended)
		run.err = server.Run(ctx)
	}()
}

func (s *Server) awaitReady(ctx context.Context) error {
	select {
	case <-s.server.Ready():
		return nil
	case <-s.running.ended:
		return errors.New("the server has ended before it was ready") // the error of stopAll has the reason
	case <-ctx.Done():
		return errors.New("the server wasn't ready yet")
	}
}

// prepare adds the users, files and objects of the options to the running server.
func (s *Server) prepare(ctx context.Context, o *options) error {
	for _, u := range o.users {
		s.AddUser(u.name, u.groups...)
	}
	if err := s.writeKubeconfig(); err != nil {
		return err
	}
	if err := s.install(ctx, o); err != nil {
		return err
	}
	if len(o.server.Etcd.StorageConfig.Transport.ServerList) > 0 {
		return nil
	}
	var err error
	s.started, err = s.Snapshot()
	return err
}

// Stop stops the server and releases all its resources. Further calls return the first result.
func (s *Server) Stop() error { return s.stopOnce() }

// stopAll stops the server before the webhooks: the server calls webhooks until its last request is answered. The
// fixture's own webhooks don't get the full timeouts of their configurations.
func (s *Server) stopAll() error {
	s.stop()
	calls := time.AfterFunc(s.webhooks.patience, func() { _ = s.webhooks.hangUp() }) // close returns the error
	<-s.running.ended
	calls.Stop()
	err := errors.Join(s.running.err, s.webhooks.close())
	if s.folder != nil {
		err = errors.Join(err, s.folder.remove())
	}
	return err
}
