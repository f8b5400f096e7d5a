package miniapitest

import (
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/process"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/program"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// processes is the default engine. It is a package variable because the servers of a test process share miniapi
// processes.
var processes engine.Engine = &process.Engine{Program: program.Find}

// documents caches the decoded content of files that options name. It is a package variable because most servers of a
// test process read the same files.
var documents = &manifests.Documents{}

// WithEngine sets the engine, which runs the server. The function choose gets the engine of the earlier options. Only
// package inprocess and packages with other engines need WithEngine.
func WithEngine(choose func(earlier engine.Engine) (engine.Engine, error)) Option {
	return func(o *options) error {
		if choose == nil {
			return errors.New("WithEngine: the function choose must not be nil")
		}
		chosen, err := choose(o.engine)
		if err == nil && chosen == nil {
			err = errors.New("WithEngine: the function choose has returned a nil engine: return an engine or an error")
		}
		o.engine = chosen
		return err
	}
}

// EngineOf returns the engine that the options choose. Start uses the same engine.
func EngineOf(opts ...Option) (engine.Engine, error) {
	o, err := applied(opts)
	if err != nil {
		return nil, err
	}
	return o.engine, nil
}
