package serving

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdlisters "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// OtherServersDelay is the time after the establishment of a definition in which the library delays each create request
// for its custom resources. The delay lets the other servers of a cluster receive the definition first.
const OtherServersDelay = 2 * time.Second

// Config has the parts of a server that requests for custom resources use.
type Config struct {
	// Own is the library's handler of this server. It serves the definitions that aren't shared.
	Own Handler
	// Next serves the requests that are for no custom resource.
	Next http.Handler

	Definitions crdlisters.CustomResourceDefinitionLister
	Admission   admission.Interface
	Authorizer  authorizer.UnconditionalAuthorizer
	// Stores has the options with which the server makes stores of custom resources.
	Stores generic.RESTOptionsGetter
	Limits Limits
	// Models are the OpenAPI models of the metadata of all objects.
	Models map[string]*spec.Schema
	// Handlers has the shared handlers. Servers of the process share it.
	Handlers *Handlers
}

// Server serves the custom resources of one server: by shared handlers where possible, and otherwise by a handler of its
// own.
type Server struct {
	Config

	mu   sync.RWMutex
	uses map[string]*use // by the name of the definition
}

// New returns a Server. The informer of definitions must call Changed with each event.
func New(c Config) *Server { return &Server{Config: c, uses: map[string]*use{}} }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok {
		s.Own.ServeHTTP(w, req)
		return
	}
	u, done := s.use(info.Resource+"."+info.APIGroup, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return isShared(crd) && isSettled(crd)
	})
	if u == nil {
		s.Own.ServeHTTP(w, req)
		return
	}
	if info.Verb == "watch" {
		done() // the end of the use ends its watches
	} else {
		defer done()
	}
	u.handler.ServeHTTP(w, req.WithContext(u.in(req.Context())))
}

// isShared reports whether servers can share the handler of a definition. They can't share the handler of a definition
// with a conversion webhook.
func isShared(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy == apiextensionsv1.NoneConverter
}

// isSettled reports whether the library serves a definition as it serves the definition of a shared handler: without a
// delay, and without refusing new objects because the definition is being deleted.
func isSettled(crd *apiextensionsv1.CustomResourceDefinition) bool {
	established := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established)
	return established != nil && established.Status == apiextensionsv1.ConditionTrue && time.Since(established.LastTransitionTime.Time) >= OtherServersDelay &&
		crd.DeletionTimestamp.IsZero() && !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating)
}

// use returns this server's use of the shared handler for a definition. It returns nil if the server's own handler must
// serve the request, for example because the function suits returns false for the definition. If the use isn't nil, the
// caller must call done at the end of the request.
func (s *Server) use(name string, suits func(*apiextensionsv1.CustomResourceDefinition) bool) (u *use, done func()) {
	crd, err := s.Definitions.Get(name)
	if err != nil || !suits(crd) {
		return nil, nil
	}
	if u := s.begun(crd); u != nil {
		return u, u.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// Under the lock, the definition is at least as new as in the last event that Changed has handled. So Changed ends
	// the new use if the definition has changed meanwhile.
	crd, err = s.Definitions.Get(name)
	if err != nil || !suits(crd) {
		return nil, nil
	}
	u = s.uses[name]
	if u == nil || u.definition.UID != crd.UID {
		handler, err := s.Handlers.of(crd, &s.Config)
		if err != nil {
			klog.ErrorS(err, "The definition has no shared handler, so a handler of this server alone serves it", "definition", name)
			return nil, nil
		}
		if u != nil {
			go u.end() // Changed will not see this use again
		}
		u = &use{definition: crd, server: s, handler: handler}
		s.uses[name] = u
	}
	u.begin()
	return u, u.done
}

func (s *Server) begun(crd *apiextensionsv1.CustomResourceDefinition) *use {
	s.mu.RLock()
	defer s.mu.RUnlock()
	u := s.uses[crd.Name]
	if u == nil || u.definition.UID != crd.UID {
		return nil
	}
	u.begin()
	return u
}

// Changed handles an event of the informer of definitions. It ends the use of a shared handler if the definition has
// changed or is deleted. The caller must call it for each event, after the event handler of Config.Own.
func (s *Server) Changed(crd *apiextensionsv1.CustomResourceDefinition, deleted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uses[crd.Name]
	if u == nil || !Superseded(u.definition, crd, deleted, s.Definitions) {
		return
	}
	delete(s.uses, crd.Name)
	go u.end()
}
