package miniapitest

import "time"

// WithReachTimeout lets webhooks take as long to listen, in place of ten seconds.
func WithReachTimeout(timeout time.Duration) Option {
	return func(o *options) error {
		o.reachTimeout = timeout
		return nil
	}
}

// WaitForHandlers makes Stop leave webhook handlers to calls for as long, in place of a second.
func (s *Server) WaitForHandlers(patience time.Duration) { s.webhooks.patience = patience }
