package process

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// Engine is an engine.Engine that runs servers in child processes.
type Engine struct {
	// Program returns the path of the miniapi program. It is called once for each miniapi process.
	Program func(context.Context) (string, error)

	mu     sync.Mutex
	hosts  map[string]*host     // by the result of the function key
	starts map[string]*starting // by the result of the function key
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
	h, err := e.hold(ctx, d)
	if err != nil {
		return nil, err
	}
	return h.start(ctx, d, events, func() { e.release(h) })
}
