// Package inprocess makes the test fixture (package miniapitest) run its servers in the test's own process. Use it to
// debug the server, or to change options by Go code. It links an API server into the test: that takes seconds and much
// memory, and the test's module must use the versions in miniapi's go.mod. Other tests import only package miniapitest.
//
//	srv := miniapitest.Start(t, inprocess.Engine())
//
// Feature gates and the emulated version are state of the process. So all servers that run at the same time must have
// the same gates and version. Otherwise Start fails.
package inprocess

import (
	"errors"
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/inprocess/local"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// Engine runs the server in the test's process.
func Engine() miniapitest.Option { return with() }

// WithServerOptions runs the server in the test's process, and calls the function change with the server's options. The
// flags of "miniapi serve" set the same options. If a test gives several such functions, they are called in order. The
// options of the fixture set the server's options before, except for the addresses of webhooks' services.
func WithServerOptions(change func(*server.Options)) miniapitest.Option {
	if change == nil {
		return miniapitest.WithEngine(func(engine.Engine) (engine.Engine, error) {
			return nil, errors.New("WithServerOptions: the function change must not be nil")
		})
	}
	return with(change)
}

// with returns the Option that runs the server in the test's process. Before the server starts, functions change the
// server's options: first the functions of earlier options, and then the functions in changes.
func with(changes ...func(*server.Options)) miniapitest.Option {
	return miniapitest.WithEngine(func(earlier engine.Engine) (engine.Engine, error) {
		e := &local.Engine{}
		if in, ok := earlier.(*local.Engine); ok {
			e.Changes = slices.Clone(in.Changes)
		}
		e.Changes = append(e.Changes, changes...)
		return e, nil
	})
}
