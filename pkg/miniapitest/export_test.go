package miniapitest

import "time"

// WithReachTimeout sets the time for which Start waits until the server can reach a webhook.
func WithReachTimeout(timeout time.Duration) Option {
	return func(o *options) error {
		o.reachTimeout = timeout
		return nil
	}
}

// WaitForHandlers sets the time for which Stop waits for handlers of webhooks.
func (s *Server) WaitForHandlers(patience time.Duration) { s.webhooks.patience = patience }
