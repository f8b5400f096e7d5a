package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/control"
)

// hosted is a server that runs for the client.
type hosted struct {
	id     string
	events events
	// cancel ends the start.
	cancel context.CancelFunc
	// configured is closed when authority is set. started is closed when the start has ended: either err is set, or
	// server is.
	configured, started chan struct{}
	authority           engine.Authority
	err                 error
	server              engine.Server
	// fixture is set for a server with setup. webhookURL is set if the setup has a handler.
	fixture    *miniapitest.Server
	webhookURL string
	// ready describes the server when it is ready.
	ready    control.Server
	warnings []string
	stopOnce func() error

	mu           sync.Mutex
	snapshots    map[string]engine.Snapshot
	lastSnapshot int
}

// start begins to start a server. A server whose start has failed remains until the client stops it, so that the client
// can read its events.
func (h *host) start(o control.Options) (*hosted, error) {
	s := &hosted{configured: make(chan struct{}), started: make(chan struct{}), snapshots: map[string]engine.Snapshot{}}
	definitions, err := h.definitions(o.Definitions)
	if err != nil {
		return nil, err
	}
	o.Description.Definitions = definitions
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.stopOnce = sync.OnceValue(func() error { return s.stop(o.Leftover) })
	if err := h.add(s); err != nil {
		s.cancel()
		return nil, err
	}
	go func() {
		if s.err = s.run(ctx, h.engine, o); s.err != nil {
			close(s.started)
			s.events.close(control.Event{Ended: true, Error: control.NewError(s.err), Warnings: s.warnings})
			return
		}
		s.ready = s.describe()
		close(s.started)
		s.events.add(control.Event{Started: &s.ready})
		<-s.server.Ended()
		s.events.close(control.Event{Ended: true, Error: control.NewError(s.server.Err())})
	}()
	return s, nil
}

// definitions returns the definitions of a start, some of which the client has sent before.
func (h *host) definitions(definitions []control.Definition) ([]*engine.Content, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var contents []*engine.Content
	for i, definition := range definitions {
		content := &engine.Content{JSON: definition.Object}
		if definition.SHA256 != "" {
			content = h.objects[definition.SHA256]
		}
		if content == nil || len(content.JSON) == 0 {
			return nil, fmt.Errorf("definitions[%d]: must have an object, or the sha256 of an object that was sent before, got %q", i, definition.SHA256)
		}
		contents = append(contents, content)
	}
	return contents, nil
}

// run starts the server, and returns when it is ready.
func (s *hosted) run(ctx context.Context, e engine.Engine, o control.Options) error {
	observed := observer{e, s, o.ExemptGroup}
	if o.Setup == nil {
		_, err := observed.Start(ctx, o.Description, engine.Events{
			Log:   func(line string) { s.events.add(control.Event{Log: &line}) },
			Audit: s.events.audit, Warn: func(string) {}, Configured: func(engine.Authority) {},
		})
		return err
	}
	handler, err := handlerOf(o.Setup)
	if err != nil {
		return err
	}
	opts, err := options(o, observed, handler, &s.events)
	if err != nil {
		return err
	}
	fixture, err := miniapitest.New(ctx, opts...)
	if err != nil {
		return named(err)
	}
	s.fixture = fixture
	if handler != nil {
		s.webhookURL = fixture.Webhook("/", handler).URL()
	}
	return nil
}

// observer is an engine whose server becomes that of a hosted.
type observer struct {
	engine.Engine
	hosted      *hosted
	exemptGroup string // for which the fixture has no option
}

// Start implements engine.Engine.
func (o observer) Start(ctx context.Context, d engine.Description, events engine.Events) (engine.Server, error) {
	warn, configured := events.Warn, events.Configured
	events.Warn = func(warning string) { // all calls are over when Start returns
		o.hosted.warnings = append(o.hosted.warnings, warning)
		warn(warning)
	}
	events.Configured = func(authority engine.Authority) {
		o.hosted.authority = authority
		close(o.hosted.configured)
		configured(authority)
	}
	d.ExemptGroup = o.exemptGroup
	server, err := o.Engine.Start(ctx, d, events)
	if err != nil {
		return nil, err
	}
	o.hosted.server = server
	return server, nil
}

// describe returns the description of a server that is ready.
func (s *hosted) describe() control.Server {
	info := s.server.Info()
	d := s.starting()
	d.Ready, d.Warnings, d.Snapshots = true, s.warnings, info.Snapshots
	d.URL, d.CA, d.Cert, d.Key = info.Host, string(info.CA), string(info.Cert), string(info.Key)
	d.Places, d.Installed, d.Kept = info.Places, info.Installed, info.Kept
	if s.fixture != nil {
		d.Kubeconfig, d.WebhookURL = s.fixture.KubeconfigFile(), s.webhookURL
	}
	return d
}

// starting returns the description of a server that is configured.
func (s *hosted) starting() control.Server {
	return control.Server{ID: s.id, WebhookCA: string(s.authority.CA())}
}

// wait waits until the server is configured, or also until it is ready, and describes it. A start that fails before the
// server is configured is an error only for who waits for a server that is ready: the events have the log and the error.
func (s *hosted) wait(ctx context.Context, until string) (control.Server, error) {
	configured := s.configured
	switch until {
	case "", "ready":
		configured = nil
	case "configured":
	default:
		return control.Server{}, fmt.Errorf("wait=%s: must be ready or configured", until)
	}
	select {
	case <-configured:
		return s.starting(), nil
	case <-s.started:
		if configured != nil {
			return s.state(), nil
		}
		return s.ready, s.err
	case <-ctx.Done():
		return control.Server{}, context.Cause(ctx)
	}
}

// state describes the server as it is now. The result has only an id before the server is configured.
func (s *hosted) state() control.Server {
	select {
	case <-s.started:
		if s.err == nil {
			return s.ready
		}
	default:
	}
	select {
	case <-s.configured:
		return s.starting()
	default:
		return control.Server{ID: s.id}
	}
}

// errNotReady is the error of requests to a server that is still starting.
var errNotReady = errors.New("the server is still starting: wait until it is ready")

// running returns the server, if it is ready.
func (s *hosted) running() (engine.Server, error) {
	select {
	case <-s.started:
		return s.server, s.err
	default:
		return nil, errNotReady
	}
}

// setUp returns the fixture of a server with setup.
func (s *hosted) setUp() (*miniapitest.Server, error) {
	if _, err := s.running(); err != nil {
		return nil, err
	}
	if s.fixture == nil {
		return nil, errors.New("the server was started without setup, which this operation needs: give setup, which may be empty")
	}
	return s.fixture, nil
}

// admin returns a client configuration of the admin.
func (s *hosted) admin() (*rest.Config, error) {
	if _, err := s.running(); err != nil {
		return nil, err
	}
	return &rest.Config{Host: s.ready.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData: []byte(s.ready.CA), CertData: []byte(s.ready.Cert), KeyData: []byte(s.ready.Key),
	}}, nil
}

// stop stops a server. Further calls return the first result.
func (h *host) stop(s *hosted) error {
	defer h.remove(s)
	return s.stopOnce()
}

func (s *hosted) stop(leftover string) error {
	s.cancel()
	s.events.abandon()
	<-s.started
	var err error
	switch {
	case s.fixture != nil:
		err = s.fixture.Stop()
	case s.err == nil:
		err = s.server.Stop()
	}
	return errors.Join(err, removeLeftover(leftover))
}

// leftoverPrefix is the beginning of the name of each folder that a test process may leave.
const leftoverPrefix = "miniapitest-"

// removeLeftover removes a folder of the client. It removes only a folder with an absolute path, whose name begins with
// leftoverPrefix.
func removeLeftover(folder string) error {
	if unique, found := strings.CutPrefix(filepath.Base(folder), leftoverPrefix); !filepath.IsAbs(folder) || !found || unique == "" {
		return nil
	}
	return os.RemoveAll(folder)
}
