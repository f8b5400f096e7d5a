package miniapitest

import (
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine/local"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

func defaultEngine() engine.Engine { return &local.Engine{} }

// WithServerOptions changes options that flags of "miniapi serve" set. The changes are made after all other options.
func WithServerOptions(change func(*server.Options)) Option {
	return func(o *options) error {
		if change == nil {
			return errors.New("the function that changes the server's options is nil")
		}
		if in, ok := o.engine.(*local.Engine); ok {
			in.Changes = append(in.Changes, change)
		}
		return nil
	}
}
