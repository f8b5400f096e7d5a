// Package namespaceexists has the NamespaceExists plugin: nothing is done in a namespace that doesn't
// exist.
//
// It is off by default: NamespaceLifecycle, which is on, checks as much for new objects. This one also
// keeps what is left in a namespace that is gone from being changed or deleted.
package namespaceexists

import (
	"context"

	"k8s.io/apiserver/pkg/admission"

	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/internal/namespaces"
)

// Name is the plugin's name.
const Name = "NamespaceExists"

// New returns the plugin.
func New() *Plugin {
	return &Plugin{namespaces.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// Plugin looks for the namespace.
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
