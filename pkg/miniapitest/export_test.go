package miniapitest

import "time"

// WithReachTimeout changes the time that Start waits for a webhook.
func WithReachTimeout(timeout time.Duration) Option {
	return func(o *options) error {
		o.reachTimeout = timeout
		return nil
	}
}

// WaitForHandlers changes the time that Stop leaves to webhook handlers.
func (s *Server) WaitForHandlers(patience time.Duration) { s.webhooks.patience = patience }
