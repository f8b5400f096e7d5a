// Package inprocess runs the fixture's servers in the test's own process. It is for those who debug the server or change
// it by Go code. It links an API server into the test, which takes seconds and much memory, and the test's module gets
// the versions in miniapi's go.mod. Other tests import package miniapitest alone.
//
//	srv := miniapitest.Start(t, inprocess.Engine())
//
// Feature gates and the emulated version are state of the process. So servers that run in it at the same time must
// agree: Start fails for a server with others.
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

// WithServerOptions runs the server in the test's process, and changes options that flags of "miniapi serve" set. The
// changes are made after all other options, in order.
func WithServerOptions(change func(*server.Options)) miniapitest.Option {
	if change == nil {
		return miniapitest.WithEngine(func(engine.Engine) (engine.Engine, error) {
			return nil, errors.New("the function that changes the server's options is nil")
		})
	}
	return with(change)
}

// with adds changes to those of earlier options.
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
