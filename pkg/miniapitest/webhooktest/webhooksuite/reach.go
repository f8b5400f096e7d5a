package webhooksuite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// dialTimeout limits each connection of Reach.
const dialTimeout = 10 * time.Second

// Reach connects to the address of each webhook, and returns an error for each address that can't be reached. Without
// Reach, each case would report the same cause. Reach leaves out webhooks that have a Transport.
func (s *Suite) Reach(ctx context.Context) error {
	var errs []error
	tried := map[string]bool{}
	dialer := net.Dialer{Timeout: dialTimeout}
	for i := range s.Hooks {
		h := &s.Hooks[i]
		address := h.address()
		if h.Endpoint.Transport != nil || tried[address] {
			continue
		}
		tried[address] = true
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			errs = append(errs, fmt.Errorf("webhook %s: %s can't be reached: %w: start the webhook, or give the address where the webhook listens", h.Name, h.Endpoint.URL, err))
			continue
		}
		errs = append(errs, conn.Close())
	}
	return errors.Join(errs...)
}
