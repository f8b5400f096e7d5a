package server

import (
	"context"
	"net"

	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// webhookConnections are a server's connections to webhooks, and to the servers of APIServices. They end with it.
type webhookConnections struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	close context.CancelFunc
}

func newWebhookConnections() *webhookConnections {
	open, closeAll := context.WithCancel(context.Background())
	return &webhookConnections{reload.Dial(open), closeAll}
}
