package miniapitest

import (
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// WithReachTimeout changes the time that Start waits for a webhook.
func WithReachTimeout(timeout time.Duration) Option {
	return func(o *options) error {
		o.reachTimeout = timeout
		return nil
	}
}

// WaitForHandlers changes the time that Stop leaves to webhook handlers.
func (s *Server) WaitForHandlers(patience time.Duration) { s.webhooks.patience = patience }

// UseEngine changes the engine of servers without another one.
func UseEngine(e engine.Engine) { processes = e }
