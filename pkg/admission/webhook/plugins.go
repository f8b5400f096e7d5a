// Package webhook calls admission webhooks: it has the plugins MutatingAdmissionWebhook and
// ValidatingAdmissionWebhook. Which webhooks are called, what a review holds and what a response means
// is k8s.io/apiserver's own code, here as in kube-apiserver. The calls are made here so that they cost less:
// what has not changed isn't encoded again, responses are decoded once, and annotations are made only for
// requests that are audited. And what a server without webhooks doesn't need isn't made.
//
// It isn't for conversion webhooks, nor for those that authenticate or authorize.
package webhook

import (
	"context"
	"io"

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

// NewMutating returns the plugin, from its WebhookAdmissionConfiguration, if it has one.
func NewMutating(config io.Reader) (*Mutating, error) {
	p, err := newPlugin(config, newMutatingSource, newMutating)
	return &Mutating{p}, err
}

// NewValidating returns the plugin, from its WebhookAdmissionConfiguration, if it has one.
func NewValidating(config io.Reader) (*Validating, error) {
	p, err := newPlugin(config, newValidatingSource, newValidating)
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

// newMutating returns the library's plugin with the dispatcher of this package.
func newMutating(config io.Reader, source sourceFactory) (library, error) {
	plugin := &mutating.Plugin{}
	var err error
	plugin.Webhook, err = generic.NewWebhook(handler(), config, source, func(clients *webhookutil.ClientManager) generic.Dispatcher {
		return &mutatingDispatcher{caller: caller{step: admit, clients: clients}, plugin: plugin}
	})
	return plugin, err
}

// newValidating returns the library's plugin with the dispatcher of this package.
func newValidating(config io.Reader, source sourceFactory) (library, error) {
	plugin := &validating.Plugin{}
	var err error
	plugin.Webhook, err = generic.NewWebhook(handler(), config, source, func(clients *webhookutil.ClientManager) generic.Dispatcher {
		return &validatingDispatcher{caller: caller{step: validate, clients: clients}, plugin: plugin}
	})
	return plugin, err
}

func handler() *admission.Handler {
	return admission.NewHandler(admission.Connect, admission.Create, admission.Delete, admission.Update)
}
