package control

import (
	"encoding/json"
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
)

// Options are the options of a new server. Without any, the server has the defaults of "miniapi serve" but runs no
// controllers, and has a free port.
type Options struct {
	engine.Description `json:",inline"`
	// Definitions are CustomResourceDefinitions that the server has from its start. With setup, give crds instead.
	Definitions []Definition `json:"definitions,omitempty"`
	// Setup is what the host does for a client that has no fixture of its own: it makes a kubeconfig, applies manifests,
	// and serves webhooks. The Go fixture does so itself, and leaves it out.
	Setup *Setup `json:"setup,omitempty"`
}

// Definition is an object, or the hash of an object that the host has already.
type Definition struct {
	// SHA256 is the hash of an object that the client has sent before, in hexadecimal digits.
	SHA256 string          `json:"sha256,omitempty"`
	Object json.RawMessage `json:"object,omitempty"`
}

// Setup is what the host does for a client at the start of a server. Relative paths start at the host's working
// directory.
type Setup struct {
	// CRDs are files, globs or folders with CustomResourceDefinitions, which are installed before all other objects.
	CRDs []string `json:"crds,omitempty"`
	// Manifests are files, globs or folders with objects, which are applied in their order.
	Manifests []string `json:"manifests,omitempty"`
	// Objects are objects that are applied after the manifests.
	Objects []json.RawMessage `json:"objects,omitempty"`
	// WebhookManifests are files, globs or folders with webhook configurations, which are installed after all other
	// objects. The server calls the handler in place of their services.
	WebhookManifests []string `json:"webhookManifests,omitempty"`
	// Users are users with client certificates and contexts in the kubeconfig.
	Users []User `json:"users,omitempty"`
	// Handler answers the calls of webhooks.
	Handler *Handler `json:"handler,omitempty"`
	// Trace makes the server record the decisions of admission about the last 1000 requests, for requests and why.
	Trace bool `json:"trace,omitempty"`
}

// Handler is an HTTP server of the client. The host serves HTTPS for it, with a certificate that the API server trusts,
// and passes the calls of webhooks on.
type Handler struct {
	// Address is the URL of the client's server, such as http://127.0.0.1:8080. The path of a call is appended.
	Address string `json:"address"`
	// Services are further services in place of which the server calls the handler. The services in crds and
	// webhookManifests needn't be named.
	Services []ServiceName `json:"services,omitempty"`
}

// ServiceName is the name of a service.
type ServiceName struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// User is a user who gets a client certificate.
type User struct {
	Name   string   `json:"name"`
	Groups []string `json:"groups,omitempty"`
}

// Host describes the process that answers.
type Host struct {
	Protocol string `json:"protocol"`
	Version  string `json:"version"`
	PID      int    `json:"pid"`
}

// Server is a server of the host. All certificates and keys are in PEM.
type Server struct {
	ID string `json:"id"`
	// Ready reports whether the server has started. Until then it has only an id and webhookCA.
	Ready bool `json:"ready"`
	// WebhookCA is the authority of the certificates for webhooks, which the server trusts for services of its options.
	WebhookCA string `json:"webhookCA,omitempty"`
	// URL is the address of the server.
	URL string `json:"url,omitempty"`
	// CA is the authority of the certificates of the server and of its webhooks.
	CA string `json:"ca,omitempty"`
	// Cert is the client certificate of the admin.
	Cert string `json:"cert,omitempty"`
	// Key is the key of the admin's client certificate.
	Key string `json:"key,omitempty"`
	// Kubeconfig is the path of a kubeconfig with the contexts of the admin, which is the current one, and of the users.
	// Only a server with setup has one.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// WebhookURL is the URL at which the server reaches the client's handler, for configurations with a URL.
	WebhookURL string `json:"webhookURL,omitempty"`
	// Warnings are warnings about options that don't have the expected effect.
	Warnings []string `json:"warnings,omitempty"`
	// Places are the addresses of services that the options set.
	Places []engine.Place `json:"places,omitempty"`
	// Installed are the definitions that the server has stored at its start, and Kept the objects that an earlier server
	// has kept for it.
	Installed []engine.Installed `json:"installed,omitempty"`
	Kept      []engine.Installed `json:"kept,omitempty"`
	// Snapshots reports whether the server can make snapshots. A server with an external etcd can't.
	Snapshots bool `json:"snapshots,omitempty"`
}

// Servers is the list of the host's servers.
type Servers struct {
	Servers []Server `json:"servers"`
}

// Event is an event of a server. Only one of its fields is set, but for warnings and errors.
type Event struct {
	// Log is a line of the server's log.
	Log *string `json:"log,omitempty"`
	// Audit is an Event of audit.k8s.io/v1. The event's request waits until the client has acknowledged the number.
	Audit  json.RawMessage `json:"audit,omitempty"`
	Number int64           `json:"number,omitempty"`
	// Started is the server, when it is ready.
	Started *Server `json:"started,omitempty"`
	// Ended is true in the last event. Error has the reason of a failed start, or of a server that has failed.
	Ended bool   `json:"ended,omitempty"`
	Error *Error `json:"error,omitempty"`
	// Warnings are those of a start that failed.
	Warnings []string `json:"warnings,omitempty"`
}

// CertificateRequest is a request for a serving certificate of a webhook.
type CertificateRequest struct {
	Hosts []string `json:"hosts,omitempty"`
	IPs   []string `json:"ips,omitempty"`
}

// Certificate is a certificate with its key, in PEM. A client certificate of a server with setup also has a kubeconfig,
// as text.
type Certificate struct {
	Cert       string `json:"cert"`
	Key        string `json:"key"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// Reach is a webhook that the server must be able to reach within the time, in milliseconds.
type Reach struct {
	Webhook             engine.Webhook `json:"webhook"`
	TimeoutMilliseconds int64          `json:"timeoutMilliseconds"`
}

// Kept are objects that the host keeps for later servers with the same options.
type Kept struct {
	Objects []engine.Installed `json:"objects"`
}

// Snapshot is a copy of all objects of a server at one moment.
type Snapshot struct {
	ID string `json:"id"`
}

// Manifests are objects to apply, in their order.
type Manifests struct {
	// Paths are files, globs or folders.
	Paths []string `json:"paths,omitempty"`
	// Text is YAML or JSON, with any number of documents. It is applied after the files.
	Text string `json:"text,omitempty"`
}

// Applied is the result of applying manifests.
type Applied struct {
	Objects  int      `json:"objects"`
	Warnings []string `json:"warnings,omitempty"`
}

// Recording is a folder for golden files: the AdmissionReviews to the handler, with the responses.
type Recording struct {
	Folder string `json:"folder"`
}

// PodAction is an action on the pods of a server. Names of pods have the form NAMESPACE/NAME.
type PodAction struct {
	// Action is hold, which stops the clock of the pods; release, which lets it go on; step, by which held pods come to
	// their next stages at once; advance, which moves the clock of held pods; or fail, by which a pod fails.
	Action string `json:"action"`
	// Pods are the pods of step, where none stands for all, and the pod of fail.
	Pods []string `json:"pods,omitempty"`
	// By is the time by which advance moves the clock, such as 10s.
	By string `json:"by,omitempty"`
	// Reason is the reason of fail, such as OOMKilled.
	Reason string `json:"reason,omitempty"`
}

// Error is the body of each answer with a status of 400 or more.
type Error struct {
	Message string `json:"message"`
	// Reason is Untrusted if the server doesn't trust the certificate of a webhook, or empty.
	Reason string `json:"reason,omitempty"`
}

// Untrusted is the reason of an Error that stands for an engine.UntrustedError.
const Untrusted = "Untrusted"

// NewError returns the form in which an error is sent. It returns nil for nil.
func NewError(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Message: err.Error()}
	if untrusted := (*engine.UntrustedError)(nil); errors.As(err, &untrusted) {
		e.Reason = Untrusted
	}
	return e
}

// Err returns a received error as a Go error. It returns nil for nil.
func (e *Error) Err() error {
	switch {
	case e == nil:
		return nil
	case e.Reason == Untrusted:
		return &engine.UntrustedError{Err: errors.New(e.Message)}
	}
	return errors.New(e.Message)
}
