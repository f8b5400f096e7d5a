// Package namespaceexists has the plugin NamespaceExists: it refuses requests in a namespace that doesn't exist.
//
// The plugin is off by default. NamespaceLifecycle, which is on, refuses to create objects in a missing namespace.
// NamespaceExists also refuses to change or delete objects that a deleted namespace has left behind.
package namespaceexists

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/namespaces"
)

// Name is the plugin's name in flags and in files of configuration.
const Name = "NamespaceExists"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{namespaces.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Plugin refuses requests in missing namespaces.
type Plugin struct{ *namespaces.Handler }

var _ admission.ValidationInterface = &Plugin{}

// Validate implements admission.ValidationInterface.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !namespaces.IsIn(a) {
		return nil
	}
	_, err := p.Of(ctx, a)
	return err
}
