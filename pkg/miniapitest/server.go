package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// Server is a running API server for a test.
type Server struct {
	server   engine.Server
	webhooks *webhookServer
	config   *rest.Config
	folder   *folder // the folder of KubeconfigFile; nil before prepare
	hooks    *Hooks
	started  *Snapshot // the objects at the start, for Reset; nil with an external etcd

	log      *serverLog
	origin   *origin // nil if the fixture itself will stop the server
	lost     *lost   // nil if origin is nil
	stopOnce func() error

	mu    sync.Mutex
	users map[string]*rest.Config
}

// Start starts a server for a test. The server stops when the test and its subtests have ended. If the server can't
// start, the test fails at once with the reason. The test's log has the warnings that "miniapi serve" would print.
// The output of a failed test has the timeline of the last request that failed, with WithTrace, and the warnings and
// errors of the server's log, without WithLog. Without a test, as in TestMain, call Main, or New and Stop.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s, err := start(context.Background(), nil, opts)
	if err != nil {
		t.Fatalf("miniapitest: %v", err)
	}
	for _, warning := range s.log.warned() {
		t.Logf("miniapitest: warning: %s", warning)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.Admission().reportFailed(t.Logf)
		}
		if err := s.Stop(); err != nil {
			t.Errorf("miniapitest: stopping: %v", err)
		}
		if log := s.log.unread(); t.Failed() && log != "" {
			t.Logf("miniapitest: the server's log:\n%s", log)
		}
	})
	return s
}

// New starts a server. The caller must call Stop. Use New where there is no testing.TB, as in Ginkgo's BeforeSuite. The
// end of the context ends a start, but not a server that has started. If a server isn't stopped, standard error has a
// report: when the test has no reference to the server any more, or when the next test process starts a server.
func New(ctx context.Context, opts ...Option) (*Server, error) {
	o := newOrigin()
	s, err := start(ctx, o, opts)
	if err == nil {
		o.watch(s)
	}
	return s, err
}

func start(ctx context.Context, origin *origin, opts []Option) (*Server, error) {
	o, err := applied(opts)
	if err != nil {
		return nil, err
	}
	log := &serverLog{to: o.logTo}
	s, err := o.start(ctx, origin, log)
	if err != nil {
		return nil, log.explain(ended(ctx, err))
	}
	s.stopOnce = sync.OnceValue(func() error {
		if origin != nil {
			origin.stopped.Store(true)
		}
		return s.stopAll()
	})
	return s, nil
}

// ended returns an error for a failed start. If the context of the start has ended, the error says so.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("the context of the start has ended (%w): %w", context.Cause(ctx), err)
}

// start starts a server. If it returns an error, it has released everything that it had opened.
func (o *options) start(ctx context.Context, origin *origin, log *serverLog) (*Server, error) {
	if err := o.checkReplaced(); err != nil {
		return nil, err
	}
	var err error
	if o.folder, err = folderPath(); err != nil {
		return nil, err
	}
	if origin == nil { // the folder of a server of New must stay: it has the report for the next test process
		o.description.Leftover = o.folder
	}
	webhooks, err := newWebhookServer(o.handlers, log)
	if err != nil {
		return nil, err
	}
	o.description.Services, o.description.Callers = o.placedServices(webhooks.address()), o.neededCallers()
	early := o.early()
	keeping, err := o.describe(early)
	if err != nil {
		return nil, errors.Join(err, webhooks.close())
	}
	started, err := o.engine.Start(ctx, o.description, engine.Events{Log: log.add, Warn: log.warn, Audit: o.takeAudit(log), Configured: webhooks.serve})
	if err != nil {
		return nil, errors.Join(err, webhooks.close())
	}
	s := &Server{server: started, webhooks: webhooks, config: adminConfig(started.Info()), origin: origin, log: log, users: map[string]*rest.Config{}}
	if err := s.prepare(ctx, o, early, keeping); err != nil {
		return nil, errors.Join(err, s.stopAll())
	}
	return s, nil
}

// prepare makes the users and the kubeconfig, applies the objects, and registers the runtime extensions of the options.
// It then takes the snapshot for Reset, if the server can make one.
func (s *Server) prepare(ctx context.Context, o *options, early []manifests.Object, keeping *keeping) error {
	for _, u := range o.users {
		s.AddUser(u.name, u.groups...)
	}
	if err := s.writeKubeconfig(o.folder); err != nil {
		return err
	}
	if err := s.install(ctx, o, early, keeping); err != nil {
		return err
	}
	if err := s.registerExtensions(ctx, o.extensions); err != nil {
		return err
	}
	if !s.server.Info().Snapshots {
		return nil
	}
	var err error
	s.started, err = s.Snapshot()
	return err
}

// Stop stops the server and releases all its resources. Further calls return the first result.
func (s *Server) Stop() error { return s.stopOnce() }

// stopAll stops the server first, and then the webhooks, because the server calls webhooks until its last request is
// answered. Calls of webhooks that are in progress get at most the time webhooks.patience.
func (s *Server) stopAll() error {
	calls := time.AfterFunc(s.webhooks.patience, func() { _ = s.webhooks.hangUp() }) // close returns the error of hangUp
	stopped := s.server.Stop()
	calls.Stop()
	err := errors.Join(stopped, s.webhooks.close(), s.webhooks.recording.failed())
	if s.folder != nil {
		err = errors.Join(err, s.folder.remove())
	}
	return err
}
