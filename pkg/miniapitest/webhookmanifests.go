package miniapitest

import (
	"fmt"
	"net/http"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// WithWebhook serves a handler at a path from the start, as Server.Webhook does later.
func WithWebhook(path string, handler http.Handler) Option {
	return func(o *options) error {
		if path == "" || path[0] != '/' {
			return fmt.Errorf("the path of a webhook must begin with a slash, as /validate does: %q", path)
		}
		if handler == nil {
			return fmt.Errorf("webhook %s: the handler is nil", path)
		}
		o.handlers[path] = handler
		return nil
	}
}

// WithWebhookManifests installs the webhook configurations among the manifests of files,
// globs or folders, as they are, after all other objects. Services that they name are the
// handlers of WithWebhook, and trusted without a caBundle; no Service object is needed.
// Start fails unless each of the webhooks is reached.
func WithWebhookManifests(paths ...string) Option {
	return func(o *options) error {
		objects, err := manifests.Load(paths...)
		if err != nil {
			return fmt.Errorf("webhook configurations: %w", err)
		}
		found := false
		for _, object := range objects {
			if object.GroupVersionKind().Group != admissionregistrationv1.GroupName || !isWebhookConfiguration[object.GetKind()] {
				continue
			}
			webhooks, err := webhooksOf(object)
			if err != nil {
				return err
			}
			found = true
			o.configurations = append(o.configurations, object)
			o.webhooks = append(o.webhooks, webhooks...)
		}
		if !found {
			return fmt.Errorf("no webhook configuration in %q", paths)
		}
		return nil
	}
}

// WithWebhookService makes a service that webhooks name the handlers of WithWebhook, for
// configurations that the test itself creates.
func WithWebhookService(namespace, name string) Option {
	return func(o *options) error {
		if namespace == "" || name == "" {
			return fmt.Errorf("the service of webhooks needs a namespace and a name: %q", namespace+"/"+name)
		}
		o.services = append(o.services, admission.ServicePort{Namespace: namespace, Name: name})
		return nil
	}
}

var isWebhookConfiguration = map[string]bool{"MutatingWebhookConfiguration": true, "ValidatingWebhookConfiguration": true}

// webhooksOf reads how the webhooks of a configuration are called, which all versions
// of the API say alike.
func webhooksOf(object manifests.Object) ([]utilwebhook.ClientConfig, error) {
	configuration := struct {
		Webhooks []struct {
			Name         string                                      `json:"name"`
			ClientConfig admissionregistrationv1.WebhookClientConfig `json:"clientConfig"`
		} `json:"webhooks"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &configuration); err != nil {
		return nil, fmt.Errorf("%s: %s %s: %w", object.Source, object.GetKind(), object.GetName(), err)
	}
	var webhooks []utilwebhook.ClientConfig
	for _, w := range configuration.Webhooks {
		webhooks = append(webhooks, called(w.Name, w.ClientConfig))
	}
	return webhooks, nil
}

// conversionOf reads how the webhook of a definition is called, if it has one.
func conversionOf(object manifests.Object) ([]utilwebhook.ClientConfig, error) {
	definition := struct {
		Spec struct {
			Conversion struct {
				Webhook struct {
					// Field by field the type of apiextensions is this one.
					ClientConfig *admissionregistrationv1.WebhookClientConfig `json:"clientConfig"`
				} `json:"webhook"`
			} `json:"conversion"`
		} `json:"spec"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &definition); err != nil {
		return nil, fmt.Errorf("%s: %s %s: %w", object.Source, object.GetKind(), object.GetName(), err)
	}
	if c := definition.Spec.Conversion.Webhook.ClientConfig; c != nil {
		return []utilwebhook.ClientConfig{called(object.GetName(), *c)}, nil
	}
	return nil, nil
}

// called is how the server calls a webhook.
func called(name string, c admissionregistrationv1.WebhookClientConfig) utilwebhook.ClientConfig {
	webhook := utilwebhook.ClientConfig{Name: name, CABundle: c.CABundle}
	if c.URL != nil {
		webhook.URL = *c.URL
	}
	if service := c.Service; service != nil {
		webhook.Service = &utilwebhook.ClientConfigService{Namespace: service.Namespace, Name: service.Name, Port: 443}
		if service.Path != nil {
			webhook.Service.Path = *service.Path
		}
		if service.Port != nil {
			webhook.Service.Port = *service.Port
		}
	}
	return webhook
}

// resolveServices sends the services that webhooks name to the fixture's own handlers,
// but for those that are said to be elsewhere.
func (o *options) resolveServices(address string) {
	services := o.services
	for _, webhook := range slices.Concat(o.conversions, o.webhooks) {
		if s := webhook.Service; s != nil {
			services = append(services, admission.ServicePort{Namespace: s.Namespace, Name: s.Name})
		}
	}
	addresses := o.server.Admission.Services
	placed := map[admission.ServicePort]bool{}
	for port := range addresses {
		placed[admission.ServicePort{Namespace: port.Namespace, Name: port.Name}] = true
	}
	for _, service := range services {
		if !placed[service] {
			addresses[service] = address
		}
	}
}
