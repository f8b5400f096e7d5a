package engine

import (
	"context"
	"net"
	"time"
)

// Engine runs servers.
type Engine interface {
	// Start starts a server, and returns when the server is ready. The end of the context ends a start, but not a
	// server that has started. If Start returns an error, no server runs.
	Start(ctx context.Context, d Description, events Events) (Server, error)
}

// Events has functions that the server calls to report events to the fixture. Several goroutines may call them at the
// same time.
type Events struct {
	// Log is called with each line of the server's log, in order. All calls are over when Stop returns, or when Start
	// returns an error.
	Log func(line string)
	// Warn is called with each warning about an option that doesn't have the expected effect. All calls are over when
	// Start returns.
	Warn func(warning string)
	// Audit is called with each audit event, an Event of audit.k8s.io/v1 in JSON. The event's request waits until Audit
	// returns. Audit is called only if Description.Audit is true.
	Audit func(event []byte)
	// Configured is called during the start, before the server calls a webhook. Its argument issues the certificates of
	// the fixture's webhooks.
	Configured func(Authority)
}

// Authority is the certificate authority of a server. The server trusts its certificates when it calls webhooks of the
// fixture.
type Authority interface {
	// CA returns the certificate of the authority, in PEM.
	CA() []byte
	// ServingCertificate issues a serving certificate. It returns the certificate and its key in PEM.
	ServingCertificate(hosts []string, ips []net.IP) (cert, key []byte, err error)
}

// Server is a running server.
type Server interface {
	Info() Info
	// User issues a client certificate for a user. It returns the certificate and its key in PEM.
	User(name string, groups []string) (cert, key []byte, err error)
	// Reach waits until the server can connect to a webhook, or until the timeout has passed. If the server doesn't
	// trust the webhook's certificate, the error is an [UntrustedError].
	Reach(ctx context.Context, webhook Webhook, timeout time.Duration) error
	// Keep keeps the objects that the fixture has applied: later servers with the same Description.Kept have copies of
	// these objects from their start, and have the argument "objects" as their Info.Kept. The list must not be empty.
	// An implementation may keep nothing.
	Keep(ctx context.Context, objects []Installed) error
	// Snapshot copies all stored objects.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Restore brings back the objects of a snapshot of this server.
	Restore(ctx context.Context, snapshot Snapshot) error
	// Ended returns a channel that is closed when the server has ended, by Stop or by a failure.
	Ended() <-chan struct{}
	// Err returns the error of a server that has ended.
	Err() error
	// Stop stops the server. It returns when all resources of the server are released.
	Stop() error
}

// Snapshot is a copy of all stored objects at one moment. Each engine has its own type.
type Snapshot any

// Info has the properties of a running server that the fixture needs.
type Info struct {
	// Host is the URL of the server. CA has the authorities that verify its certificate, in PEM.
	Host string
	CA   []byte
	// Cert and Key are the admin's client certificate, in PEM.
	Cert, Key []byte
	// Places has all addresses of services that the options set.
	Places []Place
	// Installed are the definitions of the description that the server has stored at its start. The fixture applies the
	// remaining definitions.
	Installed []Installed
	// Kept are the objects that the server has from its start because an earlier server has kept them (Server.Keep).
	// The fixture numbers the objects.
	Kept []Installed
	// Snapshots is true if the server can make snapshots. A server with an external etcd can't make any.
	Snapshots bool
}

// Installed is an object that the server has stored at its start.
type Installed struct {
	// Index is the index of a definition in Description.Definitions, or the number of an object that was kept.
	Index int `json:"index"`
	// Warnings are the warnings that a client would have got for the object.
	Warnings []string `json:"warnings,omitempty"`
}

// PlaceOf returns the address that the options set for a port of a service. If they set no address for this port,
// PlaceOf returns their address for all ports of the service, or "" if they set none.
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

// UntrustedError says that the server doesn't trust the certificate of a webhook.
type UntrustedError struct{ Err error }

// Error implements error.
func (e *UntrustedError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the connection.
func (e *UntrustedError) Unwrap() error { return e.Err }
