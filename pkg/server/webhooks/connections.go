// Package webhooks is how a server reaches webhooks, and what it warns of in their configurations. Don't use it for which
// webhooks match a request, and what they answer: pkg/admission/webhook has that.
package webhooks

import (
	"context"
	"net"

	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// Connections are a server's connections to webhooks, and to the servers of APIServices. They end with it.
type Connections struct {
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Close context.CancelFunc
}

// NewConnections returns connections that end with Close.
func NewConnections() *Connections {
	open, closeAll := context.WithCancel(context.Background())
	return &Connections{reload.Dial(open), closeAll}
}
