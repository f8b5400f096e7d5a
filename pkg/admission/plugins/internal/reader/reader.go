// Package reader has handlers that plugins embed to read objects. A Handler has a client, which reads from the server.
// A ListerHandler also has a lister, which reads from an informer.
//
// A plugin that needs only the request embeds admission.Handler instead.
package reader

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Handler is an admission.Handler that has a client of the server.
type Handler struct {
	*admission.Handler
	Client kubernetes.Interface
}

// NewHandler returns a handler for the operations.
func NewHandler(operations ...admission.Operation) *Handler {
	return &Handler{Handler: admission.NewHandler(operations...)}
}

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (h *Handler) SetExternalKubeClientSet(client kubernetes.Interface) { h.Client = client }

// ValidateInitialization implements admission.InitializationValidator.
func (h *Handler) ValidateInitialization() error {
	if h.Client == nil {
		return errors.New("missing client")
	}
	return nil
}

// Informer is an informer of client-go, with its lister.
type Informer[Lister any] interface {
	Informer() cache.SharedIndexInformer
	Lister() Lister
}

// ListerHandler is a Handler that also has a lister. It is ready when the lister's informer is synced.
type ListerHandler[Lister any] struct {
	*Handler
	Lister   Lister
	informer func(informers.SharedInformerFactory) Informer[Lister]
}

// NewListerHandler returns a handler for the operations. informer returns the informer whose lister the plugin
// uses.
func NewListerHandler[Lister any](informer func(informers.SharedInformerFactory) Informer[Lister], operations ...admission.Operation) *ListerHandler[Lister] {
	return &ListerHandler[Lister]{Handler: NewHandler(operations...), informer: informer}
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (h *ListerHandler[Lister]) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := h.informer(f)
	h.Lister = informer.Lister()
	h.SetReadyFunc(informer.Informer().HasSynced)
}

// ValidateInitialization implements admission.InitializationValidator.
func (h *ListerHandler[Lister]) ValidateInitialization() error {
	if any(h.Lister) == nil {
		return errors.New("missing lister")
	}
	return h.Handler.ValidateInitialization()
}

// AwaitReady waits until the handler is ready. If that fails, the error is the response to the request.
func (h *ListerHandler[Lister]) AwaitReady(a admission.Attributes) error {
	if !h.WaitForReady() {
		return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
	}
	return nil
}

// Get returns the object that cached finds. If cached doesn't have the object, Get calls live: another server with
// the same etcd may have just written the object.
func Get[Object any](ctx context.Context, name string, cached func(name string) (Object, error),
	live func(ctx context.Context, name string, options metav1.GetOptions) (Object, error)) (Object, error) {
	object, err := cached(name)
	if apierrors.IsNotFound(err) {
		return live(ctx, name, metav1.GetOptions{})
	}
	return object, err
}
