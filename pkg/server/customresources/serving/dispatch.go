package serving

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
)

// next is the handler that follows a shared handler. It passes a request to the field Next of the server in the
// request's context.
type next struct{}

// ServeHTTP implements http.Handler.
func (next) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	u, err := useOf(req.Context())
	if err != nil {
		responsewriters.InternalError(w, req, err)
		return
	}
	u.server.Next.ServeHTTP(w, req)
}

// admitting is an admission plugin that calls the admission chain of the server in the context.
type admitting struct{}

var _ interface {
	admission.MutationInterface
	admission.ValidationInterface
} = admitting{}

// Handles implements admission.Interface. It returns true for all operations, because it has no context: Admit and
// Validate call Handles of the server's chain.
func (admitting) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (admitting) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	u, err := useOf(ctx)
	if err != nil {
		return err
	}
	chain, mutates := u.server.Admission.(admission.MutationInterface)
	if !mutates || !chain.Handles(a.GetOperation()) {
		return nil
	}
	return chain.Admit(ctx, a, o)
}

// Validate implements admission.ValidationInterface.
func (admitting) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	u, err := useOf(ctx)
	if err != nil {
		return err
	}
	chain, validates := u.server.Admission.(admission.ValidationInterface)
	if !validates || !chain.Handles(a.GetOperation()) {
		return nil
	}
	return chain.Validate(ctx, a, o)
}

// authorizing is an authorizer that calls the authorizer of the server in the context.
type authorizing struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (authorizing) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	u, err := useOf(ctx)
	if err != nil {
		return authorizer.DecisionDeny, "", err
	}
	return u.server.Authorizer.Authorize(ctx, a)
}
