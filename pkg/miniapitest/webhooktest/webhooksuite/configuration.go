package webhooksuite

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Configuration is a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration.
type Configuration struct {
	// Name is metadata.name. APIVersion is the apiVersion of the manifest.
	Name, APIVersion string
	Kind             Kind
	Annotations      map[string]string
	// Hooks are the webhooks. The webhooks of a validating configuration have no reinvocationPolicy.
	Hooks []admissionregistrationv1.MutatingWebhook
	// Namespaces has the labels of the known namespaces, by name.
	Namespaces map[string]map[string]string
}

// configurationKind returns the kind of the webhooks in a configuration. The argument is the kind of the configuration.
// For any other kind, the result is Unknown.
func configurationKind(name string) Kind {
	switch name {
	case "ValidatingWebhookConfiguration":
		return Validating
	case "MutatingWebhookConfiguration":
		return Mutating
	}
	return Unknown
}

// IsConfiguration tells whether a kind is a webhook configuration, in any version.
func IsConfiguration(gvk schema.GroupVersionKind) bool {
	return gvk.Group == admissionregistrationv1.GroupName && configurationKind(gvk.Kind) != Unknown
}

// NewConfiguration decodes a configuration.
func NewConfiguration(object *unstructured.Unstructured) (*Configuration, error) {
	gvk := object.GroupVersionKind()
	if !IsConfiguration(gvk) {
		return nil, fmt.Errorf("%s %s of %q: must be a ValidatingWebhookConfiguration or a MutatingWebhookConfiguration of %s", gvk.Kind, object.GetName(), gvk.GroupVersion(), admissionregistrationv1.GroupName)
	}
	c := &Configuration{Name: object.GetName(), APIVersion: object.GetAPIVersion(), Kind: configurationKind(gvk.Kind), Annotations: object.GetAnnotations()}
	body, err := json.Marshal(object.Object["webhooks"])
	if err == nil {
		err = json.Unmarshal(body, &c.Hooks)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: webhooks: %w", gvk.Kind, c.Name, err)
	}
	return c, nil
}

// isBeta tells whether the configuration has the defaults of version v1beta1.
func (c *Configuration) isBeta() bool { return strings.HasSuffix(c.APIVersion, "/v1beta1") }

// ReadConfigurations returns the webhook configurations among objects. The field Namespaces of each configuration has
// the labels of all namespaces among the objects.
func ReadConfigurations(objects []*unstructured.Unstructured) ([]*Configuration, error) {
	var all []*Configuration
	namespaces := map[string]map[string]string{}
	for _, object := range objects {
		switch {
		case IsConfiguration(object.GroupVersionKind()):
			c, err := NewConfiguration(object)
			if err != nil {
				return nil, err
			}
			c.Namespaces = namespaces
			all = append(all, c)
		case object.GetKind() == "Namespace" && object.GetAPIVersion() == "v1":
			namespaces[object.GetName()] = object.GetLabels()
		}
	}
	return all, nil
}

// Path returns the URL path of a webhook: the path of its service, or the path of its URL. The path of a service is "/"
// by default.
func Path(client admissionregistrationv1.WebhookClientConfig) (string, error) {
	switch {
	case client.Service != nil && client.Service.Path != nil:
		return *client.Service.Path, nil
	case client.URL != nil:
		u, err := url.Parse(*client.URL)
		if err != nil {
			return "", fmt.Errorf("clientConfig.url: %w", err)
		}
		return u.Path, nil
	case client.Service == nil:
		return "", errors.New("clientConfig: must have a url or a service")
	}
	return "/", nil
}

// ServiceName returns the name for which a webhook's certificate must be valid. It returns "" if the webhook has no
// service.
func ServiceName(client admissionregistrationv1.WebhookClientConfig) string {
	if client.Service == nil {
		return ""
	}
	return client.Service.Name + "." + client.Service.Namespace + ".svc"
}

// Unconfigured returns a webhook without a configuration. Its rule matches the objects of all resources when they are
// created, updated or deleted.
func Unconfigured(endpoint Endpoint) Hook {
	return Hook{
		Name: endpoint.URL, Endpoint: endpoint,
		Entry: admissionregistrationv1.MutatingWebhook{Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create,
				admissionregistrationv1.Update, admissionregistrationv1.Delete},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
		}}},
	}
}

// HooksOf returns the webhooks of configurations. The function endpoint returns the address for a clientConfig.
func HooksOf(configurations []*Configuration, endpoint func(admissionregistrationv1.WebhookClientConfig) (Endpoint, error)) ([]Hook, error) {
	var hooks []Hook
	var errs []error
	for _, c := range configurations {
		for i := range c.Hooks {
			at, err := endpoint(c.Hooks[i].ClientConfig)
			if err != nil {
				errs = append(errs, fmt.Errorf("webhook %s of the configuration %s: %w", c.Hooks[i].Name, c.Name, err))
			}
			hooks = append(hooks, Hook{Name: c.Name + "/" + c.Hooks[i].Name, Kind: c.Kind, Configuration: c, Entry: c.Hooks[i], Endpoint: at})
		}
	}
	return hooks, errors.Join(errs...)
}
