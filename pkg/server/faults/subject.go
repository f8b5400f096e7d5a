package faults

import (
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/miniapi-dev/miniapi/pkg/admission/webhook"
	"github.com/miniapi-dev/miniapi/pkg/server/loopback"
)

// subject is what faults select a request by, or the call of a webhook.
type subject struct {
	verb                         string
	group, resource, subresource string
	namespace, name              string
	user, userAgent              string
	// path is the path of a request that isn't for a resource, and empty for others.
	path string
	// webhook and configuration are empty for a request.
	webhook, configuration string
	// created is the request that creates an object whose name is still to be read, or nil.
	created *http.Request
}

// subjectOf returns the subject of a request, or false for one that meets no faults: one of the server itself or of its
// controllers, or one for [Path], by which faults are removed.
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

// called returns the subject of a webhook's call for a request.
func (s *subject) called(t webhook.Target) *subject {
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

// objectName returns the name of the object. It reads the name of a created object from the body of the request.
func (s *subject) objectName() string {
	if s.created != nil {
		s.name, s.created = bodyName(s.created), nil
	}
	return s.name
}
