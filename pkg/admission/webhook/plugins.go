// Package webhook calls admission webhooks: it is the dispatcher of the plugins MutatingAdmissionWebhook and
// ValidatingAdmissionWebhook. Which webhooks are called, what a review holds and what a response means
// is k8s.io/apiserver's own code, here as in kube-apiserver. The calls are made here so that they cost less:
// what has not changed isn't encoded again, responses are decoded once, and annotations are made only for
// requests that are audited.
//
// It isn't for conversion webhooks, nor for those that authenticate or authorize.
package webhook

import (
	"io"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/configuration"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
)

// NewMutating returns the plugin MutatingAdmissionWebhook, from its WebhookAdmissionConfiguration, if it
// has one.
func NewMutating(config io.Reader) (*mutating.Plugin, error) {
	plugin := &mutating.Plugin{}
	var err error
	plugin.Webhook, err = generic.NewWebhook(handler(), config, configuration.NewMutatingWebhookConfigurationManager,
		func(clients *webhookutil.ClientManager) generic.Dispatcher {
			return &mutatingDispatcher{caller: caller{step: admit, clients: clients}, plugin: plugin}
		})
	return plugin, err
}

// NewValidating returns the plugin ValidatingAdmissionWebhook, from its WebhookAdmissionConfiguration, if
// it has one.
func NewValidating(config io.Reader) (*validating.Plugin, error) {
	plugin := &validating.Plugin{}
	var err error
	plugin.Webhook, err = generic.NewWebhook(handler(), config, configuration.NewValidatingWebhookConfigurationManager,
		func(clients *webhookutil.ClientManager) generic.Dispatcher {
			return &validatingDispatcher{caller: caller{step: validate, clients: clients}, plugin: plugin}
		})
	return plugin, err
}

func handler() *admission.Handler {
	return admission.NewHandler(admission.Connect, admission.Create, admission.Delete, admission.Update)
}
