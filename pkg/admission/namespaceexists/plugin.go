// Package namespaceexists has the NamespaceExists plugin: nothing is done in a namespace that doesn't
// exist. NamespaceLifecycle, which is on by default, checks as much for new objects.
package namespaceexists

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

// Name is the plugin's name.
const Name = "NamespaceExists"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Plugin looks for the namespace.
type Plugin struct {
	*admission.Handler
	client     kubernetes.Interface
	namespaces corelisters.NamespaceLister
}

var _ admission.ValidationInterface = &Plugin{}

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (p *Plugin) SetExternalKubeClientSet(client kubernetes.Interface) { p.client = client }

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (p *Plugin) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	namespaces := f.Core().V1().Namespaces()
	p.namespaces = namespaces.Lister()
	p.SetReadyFunc(namespaces.Informer().HasSynced)
}

// ValidateInitialization implements admission.InitializationValidator.
func (p *Plugin) ValidateInitialization() error {
	if p.client == nil || p.namespaces == nil {
		return errors.New("missing client or namespace lister")
	}
	return nil
}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetNamespace() == "" || a.GetKind().GroupKind() == corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind() {
		return nil
	}
	if !p.WaitForReady() {
		return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
	}
	_, err := p.namespaces.Get(a.GetNamespace())
	if apierrors.IsNotFound(err) {
		// Another process may have written it to the same storage.
		_, err = p.client.CoreV1().Namespaces().Get(ctx, a.GetNamespace(), metav1.GetOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return apierrors.NewInternalError(err)
	}
	return err
}
