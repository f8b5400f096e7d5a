// Package admissiontrace records the decisions of admission about requests, and serves them below /debug/admission/. It
// serves the recorded requests, the reasons why a webhook is or isn't called for an object or a policy is or isn't
// evaluated, the matrix of webhooks and policies against resources, and a page with all of these. Package trace has the
// types of the records, and pkg/admission fills them in.
//
// [New] is the constructor, and [Options] are the flags. Don't use the package for an audit log: see package audit.
package admissiontrace

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/discovery"
	admissionregistrationv1 "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// Config has the parts of a server that a Trace needs.
type Config struct {
	Recorder *recorder.Recorder
	// Following ends when a stop of the server begins. Requests that follow the recorded requests (see IsFollowing) end
	// with Following.
	Following context.Context
	// Serializer encodes errors for clients. Decoder decodes the errors in recorded responses.
	Serializer runtime.NegotiatedSerializer
	Decoder    runtime.Decoder
	// RequestInfo and Mapper turn an Evaluation into a request. Mapper also finds the resource that a query names.
	RequestInfo request.RequestInfoResolver
	Mapper      meta.RESTMapper
	// Configurations reads webhook configurations and policies with the permissions of the server.
	Configurations admissionregistrationv1.AdmissionregistrationV1Interface
	// Authorizer decides about the request of an Evaluation that names a user.
	Authorizer authorizer.UnconditionalAuthorizer
	// Discovery lists the resources. Equivalents maps a resource to the resources with the same objects. Hides tells
	// whether the server hides a resource from an admission plugin.
	Discovery   discovery.ServerResourcesInterface
	Equivalents func() runtime.EquivalentResourceMapper
	Hides       func(plugin string, resource schema.GroupResource) bool
	// Runs tells whether an admission plugin is on.
	Runs func(plugin string) bool
}

// Trace has the recorded decisions of one server, and serves them.
type Trace struct {
	Config
	configurations configurationReader
	evaluator      evaluator
	signIns        signIns
}

// New returns a Trace. Evaluate must be called before the Trace serves requests.
func New(config Config) *Trace {
	return &Trace{
		Config:         config,
		configurations: configurationReader{config.Configurations, config.Runs},
		evaluator:      evaluator{Config: config},
		signIns:        signIns{links: sessions{life: linkLife}, browsers: sessions{life: sessionLife}},
	}
}

// Evaluate sets the handler of requests for resources. Evaluations send their requests to this handler.
func (t *Trace) Evaluate(api http.Handler) { t.evaluator.api.Store(&api) }
