package process

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/wire"
)

// Engine is an engine.Engine.
type Engine struct {
	// Program returns the path of the miniapi program. It is called once for each miniapi process.
	Program func(context.Context) (string, error)

	mu    sync.Mutex
	hosts map[string]*host // by settings
	last  int64            // the number of the last server
}

// settings are the options that hold for a whole miniapi process.
type settings struct {
	FeatureGates    map[string]bool
	EmulatedVersion string
}

// key is alike for descriptions whose servers can run in one process.
func key(d engine.Description) (key string, usual bool) {
	s := settings{d.FeatureGates, d.EmulatedVersion}
	if len(s.FeatureGates) == 0 {
		s.FeatureGates = nil
	}
	encoded, _ := json.Marshal(s) // it has strings and booleans alone
	return string(encoded), s.FeatureGates == nil && s.EmulatedVersion == ""
}

// Start implements engine.Engine.
func (e *Engine) Start(ctx context.Context, d engine.Description, events engine.Events) (engine.Server, error) {
	if d.DataDir != "" { // the folders of the two processes may differ
		absolute, err := filepath.Abs(d.DataDir)
		if err != nil {
			return nil, fmt.Errorf("data folder: %w", err)
		}
		d.DataDir = absolute
	}
	h, id, err := e.hold(ctx, d)
	if err != nil {
		return nil, err
	}
	s := newServer(h, id, events, func() { e.release(h) })
	reply, err := h.call(ctx, nil, wire.Request{Server: id, Start: &d})
	for _, warning := range reply.Warnings {
		events.Warn(warning)
	}
	if err == nil && reply.Info == nil {
		err = fmt.Errorf("the miniapi process %d has answered without saying where the server is", h.pid())
	}
	if err != nil {
		s.finish(err)
		return nil, err
	}
	s.info = *reply.Info
	return s, nil
}

// hold returns the process for a server, which it starts if there is none, and a number for the server.
func (e *Engine) hold(ctx context.Context, d engine.Description) (*host, int64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hosts == nil {
		e.hosts = map[string]*host{}
	}
	key, usual := key(d)
	h := e.hosts[key]
	if h == nil || !h.usable() {
		program, err := e.Program(ctx)
		if err != nil {
			return nil, 0, err
		}
		if h, err = startHost(program, key, usual); err != nil {
			return nil, 0, err
		}
		e.hosts[key] = h
	}
	h.users++
	if h.users == 1 {
		h.listen()
	}
	e.last++
	return h, e.last, nil
}

// release is called when a server has stopped. Nothing listens to a process without servers, so that no goroutine is
// left; the process of other settings than the usual ones ends.
func (e *Engine) release(h *host) {
	e.mu.Lock()
	defer e.mu.Unlock()
	h.users--
	if h.users > 0 {
		return
	}
	h.pause()
	if h.usual && h.usable() {
		return
	}
	if e.hosts[h.key] == h {
		delete(e.hosts, h.key)
	}
	h.end()
}
