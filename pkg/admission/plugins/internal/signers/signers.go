// Package signers is for plugins that check a user's permissions for signers of certificates.
//
// It checks only permissions for the resource "signers". A plugin that checks other permissions calls the authorizer
// itself, as OwnerReferencesPermissionEnforcement does.
package signers

import (
	"context"
	"errors"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/registry/signing"
)

// Handler is an admission.Handler that has an authorizer. Plugins embed it.
type Handler struct {
	*admission.Handler
	authorizer authorizer.UnconditionalAuthorizer
}

// NewHandler returns a handler for the operations.
func NewHandler(operations ...admission.Operation) *Handler {
	return &Handler{Handler: admission.NewHandler(operations...)}
}

// SetUnconditionalAuthorizer implements initializer.WantsUnconditionalAuthorizer.
func (h *Handler) SetUnconditionalAuthorizer(a authorizer.UnconditionalAuthorizer) { h.authorizer = a }

// ValidateInitialization implements admission.InitializationValidator.
func (h *Handler) ValidateInitialization() error {
	if h.authorizer == nil {
		return errors.New("missing authorizer")
	}
	return nil
}

// Authorized reports whether the user may use the verb (approve, sign or attest) for the signer, or for all signers
// of the signer's domain.
func (h *Handler) Authorized(ctx context.Context, by user.Info, verb, signer string) bool {
	return signing.Permitted(ctx, h.authorizer, by, verb, signer)
}
