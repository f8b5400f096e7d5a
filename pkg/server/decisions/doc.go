// Package decisions records what admission decides about requests, and serves it below /debug/admission/: the recorded
// requests, the reason why a webhook was or would be called for an object or not, and a page with both. Package trace has the data, and
// pkg/admission fills it in. The package isn't for audit.
package decisions

import (
	"context"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/discovery"
	admissionregistrationv1 "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// Config has the parts of a server that decisions need.
type Config struct {
	Recorder *trace.Recorder
	// Following ends when a stop of the server begins. It ends the requests that follow others.
	Following context.Context
	// Serializer encodes errors, and Decoder decodes the errors of responses.
	Serializer runtime.NegotiatedSerializer
	Decoder    runtime.Decoder
	// RequestInfo and Mapper make requests to evaluate.
	RequestInfo request.RequestInfoResolver
	Mapper      meta.RESTMapper
	// Configurations are those of webhooks, read as the server itself.
	Configurations admissionregistrationv1.AdmissionregistrationV1Interface
	// Discovery lists the resources, Equivalents has those with the same objects, and Hides says which of them the server
	// hides from webhooks.
	Discovery   discovery.ServerResourcesInterface
	Equivalents func() runtime.EquivalentResourceMapper
	Hides       func(schema.GroupResource) bool
	// Runs says whether an admission plugin runs.
	Runs func(plugin string) bool
}

// Decisions are those of one server.
type Decisions struct {
	Config
	// api serves requests for resources, for evaluations.
	api atomic.Pointer[http.Handler]
	// links and browsers are the users that sign in, and those that have.
	links, browsers sessions
}

// New returns decisions. Evaluate must be called before they are served.
func New(config Config) *Decisions {
	return &Decisions{Config: config, links: sessions{life: linkLife}, browsers: sessions{life: sessionLife}}
}

// Evaluate sets the handler for resources by which requests are evaluated that aren't made.
func (d *Decisions) Evaluate(api http.Handler) { d.api.Store(&api) }
