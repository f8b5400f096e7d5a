package engine

import (
	"context"
	"net"
	"time"
)

// Engine runs servers.
type Engine interface {
	// Start starts a server and returns when the server is ready. The context bounds the start alone. After an error,
	// nothing is left.
	Start(ctx context.Context, d Description, events Events) (Server, error)
}

// Events are the functions by which a server reports to the fixture. Many goroutines call them.
type Events struct {
	// Log takes each line of the server's log, in order. The last call comes before the end of Stop or of a failed
	// start.
	Log func(line string)
	// Warn takes each warning about options that don't do what they ask for. The last call comes before Start returns.
	Warn func(warning string)
	// Audit takes each audit event, an Event of audit.k8s.io/v1 in JSON. The request that the event is about waits for
	// the return. Audit is called only if the description asks for audit events.
	Audit func(event []byte)
	// Configured is called during the start, before the server calls a webhook.
	Configured func(Authority)
}

// Authority is the certificate authority of a server. The server trusts it for the webhooks of the fixture.
type Authority interface {
	// CA returns the certificate of the authority, in PEM.
	CA() []byte
	// ServingCertificate issues a certificate, with its key, in PEM.
	ServingCertificate(hosts []string, ips []net.IP) (cert, key []byte, err error)
}

// Server is a server that has started.
type Server interface {
	Info() Info
	// User issues a client certificate, with its key, in PEM.
	User(name string, groups []string) (cert, key []byte, err error)
	// Reach waits until the server reaches a webhook, or the timeout has passed. The error is an [UntrustedError] if the
	// server doesn't trust the certificate of the webhook.
	Reach(ctx context.Context, webhook Webhook, timeout time.Duration) error
	// Snapshot records everything that the server stores.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Restore restores the objects of a snapshot of this server.
	Restore(ctx context.Context, snapshot Snapshot) error
	// Ended returns a channel that is closed when the server has ended, by Stop or by itself.
	Ended() <-chan struct{}
	// Err returns the error of a server that has ended.
	Err() error
	// Stop stops the server and returns when everything of it is released.
	Stop() error
}

// Snapshot is everything that a server stored at one moment. Each engine has its own type.
type Snapshot any

// Info describes a running server to the fixture.
type Info struct {
	// Host is the URL of the server, and CA the certificate that verifies it, in PEM.
	Host string
	CA   []byte
	// Cert and Key are the admin's client certificate, in PEM.
	Cert, Key []byte
	// Places has the addresses of all services that the options place.
	Places []Place
	// Installed are the definitions of the description that the server has. The fixture applies the others.
	Installed []Installed `json:",omitempty"`
	// Snapshots is false if the server can't make snapshots, because its etcd is external.
	Snapshots bool
}

// Installed is a definition of the description that the server has.
type Installed struct {
	// Index is that of the definition in the description.
	Index int
	// Warnings are those that the answer to a request would have had.
	Warnings []string `json:",omitempty"`
}

// PlaceOf returns the address that the options give a service's port, or else the service. It returns "" if they give
// none.
func (i Info) PlaceOf(namespace, name string, port int32) string {
	address := ""
	for _, p := range i.Places {
		switch {
		case p.Namespace != namespace || p.Name != name:
		case p.Port == port:
			return p.Address
		case p.Port == 0:
			address = p.Address
		}
	}
	return address
}

// UntrustedError is the error of a webhook whose certificate the server doesn't trust.
type UntrustedError struct{ Err error }

// Error implements error.
func (e *UntrustedError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the connection.
func (e *UntrustedError) Unwrap() error { return e.Err }
