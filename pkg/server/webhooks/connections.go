// Package webhooks has the connections of a server to webhooks, and the warnings about their configurations. Don't use
// the package to select webhooks or to read their responses: pkg/admission/webhook does that.
package webhooks

import (
	"context"
	"net"

	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// Connections are a server's connections to webhooks, and to the other servers that APIServices name. Close ends all of
// them.
type Connections struct {
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Close context.CancelFunc
}

// NewConnections returns connections that end with Close.
func NewConnections() *Connections {
	open, closeAll := context.WithCancel(context.Background())
	return &Connections{reload.Dial(open), closeAll}
}
