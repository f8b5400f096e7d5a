package local

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Engine is an engine.Engine. The zero value is ready for use.
type Engine struct {
	// Changes are called with the options of each server, in order, after the description is applied.
	Changes []func(*server.Options)
}

// starts has a place for each server that is starting. A start is work for the processors of the process: more starts
// at a time only take longer, until etcd's requests time out.
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

// start starts a server. After an error, nothing is left.
func (e *Engine) start(ctx context.Context, d engine.Description, events engine.Events) (*runningServer, error) {
	o, err := e.options(d)
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
	s.info.Installed = installedOf(built)
	return s, nil
}

// build makes a server from the options.
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
