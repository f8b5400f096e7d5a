// Package namespaces is for plugins that read the namespace object of a request.
//
// A plugin that needs only the namespace's name takes it from the request, and embeds admission.Handler instead.
package namespaces

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/reader"
)

// Handler is an admission.Handler that can read namespaces. Plugins embed it.
type Handler struct {
	*reader.ListerHandler[corelisters.NamespaceLister]
}

// NewHandler returns a handler for the operations.
func NewHandler(operations ...admission.Operation) *Handler {
	return &Handler{reader.NewListerHandler(namespaces, operations...)}
}

func namespaces(f informers.SharedInformerFactory) reader.Informer[corelisters.NamespaceLister] {
	return f.Core().V1().Namespaces()
}

// GetNamespace returns a namespace. If the informer doesn't have it, GetNamespace reads it from the server.
func (h *Handler) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return reader.Get(ctx, name, h.Lister.Get, h.Client.CoreV1().Namespaces().Get)
}

// Of returns the namespace of a request. If that fails, the error is the response to the request.
func (h *Handler) Of(ctx context.Context, a admission.Attributes) (*corev1.Namespace, error) {
	if err := h.AwaitReady(a); err != nil {
		return nil, err
	}
	namespace, err := h.GetNamespace(ctx, a.GetNamespace())
	if err != nil && !apierrors.IsNotFound(err) {
		err = apierrors.NewInternalError(err)
	}
	return namespace, err
}

// IsIn reports whether a request is for an object in a namespace. It is false for requests for a namespace itself.
func IsIn(a admission.Attributes) bool {
	return a.GetNamespace() != "" && a.GetKind().GroupKind() != corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()
}
