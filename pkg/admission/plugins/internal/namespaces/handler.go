// Package namespaces is for plugins that read the namespace of a request.
//
// A plugin that needs the namespace's name alone takes it from the request, and embeds admission.Handler instead.
package namespaces

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Handler is an admission.Handler that reads namespaces. Plugins embed it.
type Handler struct {
	*admission.Handler
	Client kubernetes.Interface
	lister corelisters.NamespaceLister
}

// NewHandler returns a handler for the operations.
func NewHandler(operations ...admission.Operation) *Handler {
	return &Handler{Handler: admission.NewHandler(operations...)}
}

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (h *Handler) SetExternalKubeClientSet(client kubernetes.Interface) { h.Client = client }

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (h *Handler) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	namespaces := f.Core().V1().Namespaces()
	h.lister = namespaces.Lister()
	h.SetReadyFunc(namespaces.Informer().HasSynced)
}

// ValidateInitialization implements admission.InitializationValidator.
func (h *Handler) ValidateInitialization() error {
	if h.Client == nil || h.lister == nil {
		return errors.New("missing client or namespace lister")
	}
	return nil
}

// GetNamespace returns a namespace. If the informer lacks it, GetNamespace reads it from the server: another process
// may have written it to the same storage.
func (h *Handler) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespace, err := h.lister.Get(name)
	if apierrors.IsNotFound(err) {
		return h.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	}
	return namespace, err
}

// Of returns the namespace of a request. Its error is the response to the request.
func (h *Handler) Of(ctx context.Context, a admission.Attributes) (*corev1.Namespace, error) {
	if !h.WaitForReady() {
		return nil, admission.NewForbidden(a, errors.New("not yet ready to handle request"))
	}
	namespace, err := h.GetNamespace(ctx, a.GetNamespace())
	if err != nil && !apierrors.IsNotFound(err) {
		err = apierrors.NewInternalError(err)
	}
	return namespace, err
}

// IsIn reports whether a request is for an object in a namespace, other than the namespace itself.
func IsIn(a admission.Attributes) bool {
	return a.GetNamespace() != "" && a.GetKind().GroupKind() != corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind()
}
