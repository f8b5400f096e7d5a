// Package namespaceautoprovision has the plugin NamespaceAutoProvision: the namespace of a new object is created if
// it doesn't exist.
//
// The plugin is off by default: a misspelled name creates a namespace, and users need no permission to create
// namespaces. Without the plugin, NamespaceLifecycle refuses objects in a missing namespace.
package namespaceautoprovision

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/namespaces"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "NamespaceAutoProvision"

// New returns the plugin.
func New() *Plugin { return &Plugin{namespaces.NewHandler(admission.Create)} }

// Plugin creates missing namespaces.
type Plugin struct{ *namespaces.Handler }

var _ admission.MutationInterface = &Plugin{}

// Admit implements admission.MutationInterface.
func (p *Plugin) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	// A dry run must not create a namespace, so the plugin does nothing.
	if a.IsDryRun() || !namespaces.IsIn(a) {
		return nil
	}
	_, err := p.Of(ctx, a)
	if apierrors.IsNotFound(err) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.GetNamespace()}}
		_, err = p.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return admission.NewForbidden(a, err)
	}
	return nil
}
