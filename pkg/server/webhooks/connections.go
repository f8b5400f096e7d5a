// Package webhooks connects a server to webhooks, and has the warnings about their configurations. Don't use it for the
// selection of webhooks or for their responses: pkg/admission/webhook has those.
package webhooks

import (
	"context"
	"net"

	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// Connections are a server's connections to webhooks, and to the servers of APIServices. Close ends them.
type Connections struct {
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Close context.CancelFunc
}

// NewConnections returns connections that end with Close.
func NewConnections() *Connections {
	open, closeAll := context.WithCancel(context.Background())
	return &Connections{reload.Dial(open), closeAll}
}
