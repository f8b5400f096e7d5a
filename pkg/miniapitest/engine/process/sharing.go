package process

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// settings are the options that apply to a whole miniapi process.
type settings struct {
	FeatureGates    map[string]bool
	EmulatedVersion string
}

// key returns the same text for descriptions whose servers can run in one process. The result usual is true if the
// description leaves all settings of the process at their defaults.
func key(d engine.Description) (key string, usual bool) {
	s := settings{d.FeatureGates, d.EmulatedVersion}
	if len(s.FeatureGates) == 0 {
		s.FeatureGates = nil
	}
	encoded, _ := json.Marshal(s) // settings have only strings and booleans, which can always be encoded
	return string(encoded), s.FeatureGates == nil && s.EmulatedVersion == ""
}

// hold returns the process for a server. It starts the process if none is running.
func (e *Engine) hold(ctx context.Context, d engine.Description) (*host, error) {
	key, usual := key(d)
	for {
		e.mu.Lock()
		if h := e.hosts[key]; h != nil && h.usable() {
			defer e.mu.Unlock()
			e.use(h)
			return h, nil
		}
		if other := e.starts[key]; other != nil {
			e.mu.Unlock()
			select {
			case <-other.ended:
			case <-ctx.Done():
				return nil, fmt.Errorf("waiting for the miniapi process, which another server starts: %w", context.Cause(ctx))
			}
			if other.err != nil {
				return nil, other.err
			}
			continue
		}
		own := &starting{ended: make(chan struct{})}
		if e.starts == nil {
			e.hosts, e.starts = map[string]*host{}, map[string]*starting{}
		}
		e.starts[key] = own
		e.mu.Unlock()
		return e.startHost(ctx, own, key, usual)
	}
}

// starting is the start of a process. Other servers wait for it without holding the engine's mu, because the start may
// have to build the program.
type starting struct {
	ended chan struct{}
	err   error // has its value when ended is closed; nil after a success, or if the next server must try again
}

// startHost starts a process for the first server that needs it. Other servers that need the process wait until
// startHost closes own.ended. The argument key stands for the settings of the process, and usual is true if these are
// the defaults.
func (e *Engine) startHost(ctx context.Context, own *starting, key string, usual bool) (*host, error) {
	program, err := e.Program(ctx)
	var h *host
	if err == nil {
		h, err = startHost(ctx, program, key, usual)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.starts, key)
	defer close(own.ended)
	if err != nil {
		if ctx.Err() == nil {
			own.err = err
		}
		return nil, err
	}
	e.hosts[key] = h
	e.use(h)
	return h, nil
}

// use counts a server of a process. The caller must hold mu.
func (e *Engine) use(h *host) {
	h.users++
	if h.users == 1 {
		h.listen()
	}
}

// release is called when a server has stopped, or when its start has failed. After the last server of a process, the
// goroutines that read from the process end, so that a test leaves no goroutine. The process itself then ends if it has
// failed, or if its feature gates or its emulated version aren't the defaults.
func (e *Engine) release(h *host) {
	if e.lastOf(h) {
		h.end()
	}
}

// lastOf reduces the number of servers in a process by one, and reports whether the process should end.
func (e *Engine) lastOf(h *host) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	h.users--
	if h.users > 0 {
		return false
	}
	h.pause()
	if h.usual && h.usable() {
		return false
	}
	if e.hosts[h.key] == h {
		delete(e.hosts, h.key)
	}
	return true
}
