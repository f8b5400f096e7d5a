package faults

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionwebhook"
	"github.com/miniapi-dev/miniapi/pkg/server/loopback"
)

// subject has the properties of a request, or of a call of a webhook, by which a rule selects it.
type subject struct {
	verb                         string
	group, resource, subresource string
	namespace, name              string
	user, userAgent              string
	// path is the path of a request that isn't for a resource. It is empty for requests for resources.
	path string
	// webhook and configuration name the webhook of a call. They are empty for a request.
	webhook, configuration string
	// created is a create request whose body hasn't been read for the object's name yet. It is nil otherwise.
	created *http.Request
}

// subjectOf returns the subject of a request. It returns false for requests without faults: requests of the server
// itself and of its controllers, and requests to [Path], so that faults can be removed.
func subjectOf(req *http.Request) (*subject, bool) {
	ctx := req.Context()
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || isOwnPath(info.Path) || req.RemoteAddr == loopback.RemoteAddr {
		return nil, false
	}
	s := &subject{verb: info.Verb, userAgent: req.UserAgent()}
	if u, ok := request.UserFrom(ctx); ok {
		s.user = u.GetName()
	}
	if !info.IsResourceRequest {
		s.path = info.Path
		return s, true
	}
	s.group, s.resource, s.subresource = info.APIGroup, info.Resource, info.Subresource
	s.namespace, s.name = info.Namespace, info.Name
	if s.verb == "create" && s.name == "" {
		s.created = req
	}
	return s, true
}

// called returns the subject of a call of the webhook t. The server makes the call while it handles the request with
// the subject s. If s is nil, the result has no verb and no user.
func (s *subject) called(t admissionwebhook.Target) *subject {
	resource := t.Attributes.GetResource()
	called := &subject{
		group: resource.Group, resource: resource.Resource, subresource: t.Attributes.GetSubresource(),
		namespace: t.Attributes.GetNamespace(), name: t.Attributes.GetName(),
		webhook: t.Webhook, configuration: t.Configuration,
	}
	if s != nil {
		called.verb, called.user, called.userAgent = s.verb, s.user, s.userAgent
	}
	return called
}

// objectName returns the name of the object. For a create request, it reads the name from the request's body.
func (s *subject) objectName() string {
	if s.created != nil {
		s.name, s.created = bodyName(s.created), nil
	}
	return s.name
}
