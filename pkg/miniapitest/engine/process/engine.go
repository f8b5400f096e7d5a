package process

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/wire"
)

// Engine is an engine.Engine that runs servers in child processes.
type Engine struct {
	// Program returns the path of the miniapi program. It is called once for each miniapi process.
	Program func(context.Context) (string, error)

	mu     sync.Mutex
	hosts  map[string]*host     // by the result of the function key
	starts map[string]*starting // by the result of the function key
	last   int64                // the number of the last started server
}

// Start implements engine.Engine.
func (e *Engine) Start(ctx context.Context, d engine.Description, events engine.Events) (engine.Server, error) {
	if d.DataDir != "" { // the child process may have another working directory
		absolute, err := filepath.Abs(d.DataDir)
		if err != nil {
			return nil, fmt.Errorf("data folder %q: %w", d.DataDir, err)
		}
		d.DataDir = absolute
	}
	h, id, err := e.hold(ctx, d)
	if err != nil {
		return nil, err
	}
	s := newServer(h, id, events, func() { e.release(h) })
	reply, err := h.call(ctx, nil, wire.Request{Server: id, Start: &d, Definitions: h.send(d.Definitions)})
	for _, warning := range reply.Warnings {
		events.Warn(warning)
	}
	if err == nil && reply.Info == nil {
		err = fmt.Errorf("the answer of the miniapi process %d lacks the server's address", h.pid())
	}
	if err != nil {
		s.finish(err)
		return nil, err
	}
	s.info = *reply.Info
	return s, nil
}
