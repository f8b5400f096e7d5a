// Package signers is for plugins that check a user's permissions for signers of certificates, or the certificate
// requests to signers.
//
// It checks only permissions for the resource "signers". A plugin that checks other permissions calls the authorizer
// itself, as OwnerReferencesPermissionEnforcement does.
package signers

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/klog/v2"
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
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, reason, err := h.authorizer.Authorize(ctx, authorizer.AttributesRecord{
			User:            by,
			Verb:            verb,
			APIGroup:        "certificates.k8s.io",
			APIVersion:      "*",
			Resource:        "signers",
			Name:            name,
			ResourceRequest: true,
		})
		if decision == authorizer.DecisionAllow {
			return true
		}
		klog.FromContext(ctx).V(4).Info("user not permitted for signer", "user", by.GetName(), "verb", verb, "signer", name, "reason", reason, "err", err)
	}
	return false
}
