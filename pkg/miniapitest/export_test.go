package miniapitest

import "time"

// WaitForHandlers makes Stop leave webhook handlers to calls for as long, in place of a second.
func (s *Server) WaitForHandlers(patience time.Duration) { s.webhooks.patience = patience }
