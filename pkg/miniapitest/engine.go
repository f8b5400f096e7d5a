package miniapitest

import (
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/process"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/program"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// processes is the engine of servers without another one. It is a variable of the package because the servers of a test
// process share miniapi processes.
var processes engine.Engine = &process.Engine{Program: program.Find}

// documents caches the files that options name. The servers of a test process share the cache, because most of them name
// the same files.
var documents = &manifests.Documents{}

// WithEngine replaces the engine, which runs the server. Choose gets the engine of earlier options. WithEngine is for package
// inprocess, and for engines of other programs.
func WithEngine(choose func(earlier engine.Engine) (engine.Engine, error)) Option {
	return func(o *options) error {
		if choose == nil {
			return errors.New("the function that chooses the engine is nil")
		}
		chosen, err := choose(o.engine)
		if err == nil && chosen == nil {
			err = errors.New("the engine is nil")
		}
		o.engine = chosen
		return err
	}
}
