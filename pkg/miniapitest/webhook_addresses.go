package miniapitest

import (
	"crypto/x509"
	"encoding/base64"
	gojson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// webhooksOf returns the addresses and authorities of the webhooks in a webhook configuration or a custom resource
// definition.
func webhooksOf(object manifests.Object) ([]engine.Webhook, error) {
	find := func(manifests.Object) ([]engine.Webhook, error) { return nil, nil }
	switch gvk := object.GroupVersionKind(); {
	case manifests.WebhookConfigurations.Has(gvk):
		find = configurationWebhooks
	case manifests.IsDefinition(gvk):
		find = conversionWebhook
	}
	webhooks, err := find(object)
	if err != nil {
		return nil, fmt.Errorf("%s: %s %s: %w", object.Source, object.GetKind(), object.GetName(), err)
	}
	return webhooks, nil
}

// clientConfig has the fields of a webhook's clientConfig. All versions of the API have the same fields.
type clientConfig struct {
	URL     string                                    `json:"url"`
	Service *admissionregistrationv1.ServiceReference `json:"service"`
	// CABundle has the type any, so that the error for a value of the wrong type can name the field.
	CABundle any `json:"caBundle"`
}

func configurationWebhooks(object manifests.Object) ([]engine.Webhook, error) {
	configuration := struct {
		Webhooks []struct {
			Name         string       `json:"name"`
			ClientConfig clientConfig `json:"clientConfig"`
		} `json:"webhooks"`
	}{}
	if err := read(object, &configuration); err != nil {
		return nil, err
	}
	var webhooks []engine.Webhook
	for _, w := range configuration.Webhooks {
		webhook, err := called(w.Name, w.ClientConfig)
		if err != nil {
			return nil, err
		}
		webhooks = append(webhooks, webhook)
	}
	return webhooks, nil
}

// conversionWebhook returns the conversion webhook of a custom resource definition, or none.
func conversionWebhook(object manifests.Object) ([]engine.Webhook, error) {
	definition := struct {
		Spec struct {
			Conversion struct {
				Webhook struct {
					ClientConfig *clientConfig `json:"clientConfig"`
				} `json:"webhook"`
			} `json:"conversion"`
		} `json:"spec"`
	}{}
	// Don't decode the whole definition: its schemas are large, and not needed here.
	if conversion, found, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "conversion"); err == nil {
		if !found {
			return nil, nil
		}
		part := map[string]any{"spec": map[string]any{"conversion": conversion}}
		part["apiVersion"], part["kind"] = object.GetAPIVersion(), object.GetKind()
		part["metadata"] = map[string]any{"name": object.GetName()}
		object.Unstructured = &unstructured.Unstructured{Object: part}
	}
	if err := read(object, &definition); err != nil {
		return nil, err
	}
	c := definition.Spec.Conversion.Webhook.ClientConfig
	if c == nil {
		return nil, nil
	}
	webhook, err := called(object.GetName(), *c)
	if err != nil {
		return nil, err
	}
	return []engine.Webhook{webhook}, nil
}

// read decodes an object into a struct with some of the object's fields. Its errors name the field. The errors of the
// converter in k8s.io/apimachinery don't name the field.
func read(object manifests.Object, into any) error {
	data, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	err = json.Unmarshal(data, into)
	if wrong := (&gojson.UnmarshalTypeError{}); errors.As(err, &wrong) {
		return fmt.Errorf("%s must be %s, but is %s", wrong.Field, kinds[wrong.Type.Kind()], wrong.Value)
	}
	return err
}

// kinds maps kinds of Go values to the names of JSON types, for errors.
var kinds = map[reflect.Kind]string{
	reflect.String: "a string, in quotes if YAML reads another type", reflect.Int32: "a number",
	reflect.Slice: "an array", reflect.Struct: "an object",
}

// called returns the address and the authorities of a webhook.
func called(name string, c clientConfig) (engine.Webhook, error) {
	webhook := engine.Webhook{Name: name, URL: c.URL}
	if service := c.Service; service != nil {
		webhook.Service = &engine.Service{Namespace: service.Namespace, Name: service.Name, Port: 443}
		if service.Path != nil {
			webhook.Service.Path = *service.Path
		}
		if service.Port != nil {
			webhook.Service.Port = *service.Port
		}
	}
	var err error
	if webhook.CABundle, err = authorities(c.CABundle); err != nil {
		return webhook, fmt.Errorf("webhook %q: clientConfig.caBundle must be certificates in PEM, encoded in base64, or be left out for services of the fixture: %w", name, err)
	}
	return webhook, nil
}

// authorities decodes a caBundle.
func authorities(caBundle any) ([]byte, error) {
	if caBundle == nil {
		return nil, nil
	}
	text, ok := caBundle.(string)
	if !ok {
		return nil, fmt.Errorf("%v must be text", caBundle)
	}
	pem, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if len(pem) > 0 && !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("must have a certificate, got %.40q", pem)
	}
	return pem, nil
}

// WithWebhookService makes the server call the handlers of WithWebhook in place of a service. Use it for configurations
// that the test creates, or that come from WithManifests or WithObjects.
func WithWebhookService(namespace, name string) Option {
	return func(o *options) error {
		if namespace == "" || name == "" {
			return fmt.Errorf("WithWebhookService(%q, %q): the service must have a namespace and a name", namespace, name)
		}
		o.services = append(o.services, engine.Place{Namespace: namespace, Name: name})
		return nil
	}
}

// placedServices returns the services of webhooks for which the server calls the fixture, with the address of the
// fixture. The services come from WithWebhookService, WithCRDs and WithWebhookManifests.
func (o *options) placedServices(address string) []engine.Place {
	services := slices.Clone(o.services)
	for _, object := range slices.Concat(o.definitions, o.configurations) {
		for _, webhook := range object.webhooks {
			if s := webhook.Service; s != nil {
				services = append(services, engine.Place{Namespace: s.Namespace, Name: s.Name})
			}
		}
	}
	for i := range services {
		services[i].Address = address
	}
	return services
}

// addressOf returns a text that is the same for webhooks with the same address.
func addressOf(webhook engine.Webhook) string {
	service := engine.Service{}
	if webhook.Service != nil {
		service = *webhook.Service
	}
	return fmt.Sprintf("%q %q %q", webhook.URL, service, webhook.CABundle)
}

// explainUnreached adds advice to most errors about a webhook that the server can't reach. The argument fixture is the
// address of the fixture's own webhooks.
func explainUnreached(webhook engine.Webhook, info engine.Info, fixture string, err error) error {
	const later = "; configure a webhook that is meant to be unreachable, or that listens later, after the start, by Apply or a client"
	service := webhook.Service
	if service == nil {
		return fmt.Errorf("%w%s", err, later)
	}
	place := info.PlaceOf(service.Namespace, service.Name, service.Port)
	if place == "" {
		return fmt.Errorf("%[1]w: WithWebhookService(%[2]q, %[3]q) makes the service the fixture's, as WithWebhookManifests and WithCRDs do with the services in their files, and WithFlags(\"--webhook-service=%[2]s/%[3]s=HOST:PORT\") gives the service another address%[4]s",
			err, service.Namespace, service.Name, later)
	}
	if untrusted := (*engine.UntrustedError)(nil); place == fixture && len(webhook.CABundle) > 0 && errors.As(err, &untrusted) {
		return fmt.Errorf("%w: the service %s/%s is the fixture's, and clientConfig.caBundle is of another authority: leave the caBundle out, because the server trusts the fixture",
			err, service.Namespace, service.Name)
	}
	return err
}
