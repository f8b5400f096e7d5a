package admissionwebhook

import (
	"context"
	"io"
	"sync"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
)

// Mutating is the plugin MutatingAdmissionWebhook.
type Mutating struct{ *plugin }

// Validating is the plugin ValidatingAdmissionWebhook.
type Validating struct{ *plugin }

var (
	_ admission.MutationInterface   = &Mutating{}
	_ admission.ValidationInterface = &Validating{}
)

// NewMutating returns the plugin. config is its WebhookAdmissionConfiguration, or nil for none. tokens authenticates the
// plugin to webhooks, and is nil if the plugin doesn't.
func NewMutating(config io.Reader, tokens TokenSource) (*Mutating, error) {
	p, err := newPlugin(config, tokens, newMutatingSource, newMutating)
	return &Mutating{p}, err
}

// NewValidating returns the plugin. config is its WebhookAdmissionConfiguration, or nil for none. tokens authenticates the
// plugin to webhooks, and is nil if the plugin doesn't.
func NewValidating(config io.Reader, tokens TokenSource) (*Validating, error) {
	p, err := newPlugin(config, tokens, newValidatingSource, newValidating)
	return &Validating{p}, err
}

// Admit implements admission.MutationInterface.
func (m *Mutating) Admit(ctx context.Context, attributes admission.Attributes, objects admission.ObjectInterfaces) error {
	return m.dispatch(ctx, attributes, objects)
}

// Validate implements admission.ValidationInterface.
func (v *Validating) Validate(ctx context.Context, attributes admission.Attributes, objects admission.ObjectInterfaces) error {
	return v.dispatch(ctx, attributes, objects)
}

// newMutating returns k8s.io/apiserver's plugin, with the dispatcher of this package.
func newMutating(config io.Reader, source sourceFactory, explainer *explainer, tokens TokenSource) (apiserverPlugin, error) {
	plugin := &mutating.Plugin{}
	var err error
	plugin.Webhook, err = generic.NewWebhook(handler(), config, source, func(clients *webhookutil.ClientManager) generic.Dispatcher {
		return &mutatingDispatcher{caller: caller{admit, clients, explainer, tokens, sync.OnceValue(newNegotiator)}, plugin: plugin}
	})
	return plugin, err
}

// newValidating returns k8s.io/apiserver's plugin, with the dispatcher of this package.
func newValidating(config io.Reader, source sourceFactory, explainer *explainer, tokens TokenSource) (apiserverPlugin, error) {
	plugin := &validating.Plugin{}
	var err error
	plugin.Webhook, err = generic.NewWebhook(handler(), config, source, func(clients *webhookutil.ClientManager) generic.Dispatcher {
		return &validatingDispatcher{caller: caller{validate, clients, explainer, tokens, sync.OnceValue(newNegotiator)}, plugin: plugin}
	})
	return plugin, err
}

func handler() *admission.Handler {
	return admission.NewHandler(admission.Connect, admission.Create, admission.Delete, admission.Update)
}
