package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/workloads"
)

// Engine runs servers in its own process. It implements engine.Engine. The zero value is ready for use.
type Engine struct {
	// Changes modify the options of each server. They are called in order. After these calls, the engine changes only one
	// option: it adds the addresses of webhooks' services.
	Changes []func(*server.Options)
	// ContainerInit is the command line of the program by which processes of pods begin (see processes.Options). Without it,
	// volumes don't lie at their mount paths.
	ContainerInit []string
}

// starts limits the number of servers that start at the same time. Starting needs processor time. With too many starts
// at a time, each takes so long that requests to etcd time out.
var starts = make(chan struct{}, 2*runtime.GOMAXPROCS(0))

// Start implements engine.Engine.
func (e *Engine) Start(ctx context.Context, d engine.Description, events engine.Events) (engine.Server, error) {
	select {
	case starts <- struct{}{}:
		defer func() { <-starts }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the starts of other servers in this process: %w", context.Cause(ctx))
	}
	defer reserveHeap(&firstReserved)()
	log := &log{events.Log}
	processKlog.attach(log)
	s, err := e.start(log.context(ctx), d, events)
	if err != nil {
		processKlog.detach(log)
		return nil, err
	}
	s.log = log
	return s, nil
}

// start starts a server, and returns when the server is ready. If it returns an error, no part of the server runs.
func (e *Engine) start(ctx context.Context, d engine.Description, events engine.Events) (*runningServer, error) {
	o, err := e.options(ctx, d)
	if err != nil {
		return nil, err
	}
	built, err := build(ctx, o, d, events)
	if err != nil {
		return nil, err
	}
	s := &runningServer{server: built, info: infoOf(built, o), ended: make(chan struct{})}
	s.begin(ctx)
	if err := s.awaitReady(ctx); err != nil {
		s.cancel()
		<-s.ended
		return nil, errors.Join(err, s.err)
	}
	s.info.Installed, s.info.Kept = installedOf(built), keptOf(built)
	return s, nil
}

func build(ctx context.Context, o *server.Options, d engine.Description, events engine.Events) (*server.Server, error) {
	policy, err := auditPolicy(d.AuditPolicy)
	if err != nil {
		return nil, err
	}
	completed, err := o.Complete()
	if err != nil {
		return nil, err
	}
	for _, warning := range completed.Warnings() {
		events.Warn(warning)
	}
	if d.Workloads != nil && d.Workloads.RunPods {
		if warning := workloads.Warning(o.Serving.BindAddress); warning != "" {
			events.Warn(warning)
		}
	}
	config, err := completed.Config(ctx)
	if err != nil {
		return nil, err
	}
	if d.Audit {
		config.AuditTo(auditSink(events.Audit), policy)
	}
	events.Configured(config)
	return config.New(ctx)
}
