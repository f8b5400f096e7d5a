// Package cluster reads the objects of a cluster that matter for a webhook configuration: the configuration, the
// definitions of its custom resources, and the labels of namespaces. It also makes the address by which calls of
// the webhook's service go through the API server.
//
// Don't use the package to change a cluster: it only reads.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// Found has the objects that were read from a cluster.
type Found struct {
	Configurations []*webhooksuite.Configuration
	// Definitions are the custom resource definitions of the API groups in the rules of the configurations, without
	// their conversion webhooks.
	Definitions []*unstructured.Unstructured

	config    *rest.Config
	transport http.RoundTripper
}

// Find reads the mutating and the validating configuration with the name. At least one of them must exist. Find also
// reads the definitions of the custom resources in the rules, and the namespaces if the user may list them.
func Find(ctx context.Context, config *rest.Config, name string) (*Found, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	f := &Found{config: config, transport: transport}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, resource := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		object, err := client.Resource(admissionregistrationv1.SchemeGroupVersion.WithResource(resource)).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", resource, name, err)
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("--configuration %s: the server %s has neither a mutating nor a validating configuration of that name: give the name of a configuration that the server has", name, config.Host)
	}
	namespaces, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(ctx, metav1.ListOptions{})
	// Ignore an error, because the user may lack the permission to list namespaces. The conformance cases then use
	// namespaces without labels.
	if err == nil {
		for i := range namespaces.Items {
			objects = append(objects, &namespaces.Items[i])
		}
	}
	if f.Configurations, err = webhooksuite.ReadConfigurations(objects); err != nil {
		return nil, err
	}
	return f, f.findDefinitions(ctx, client)
}

// findDefinitions reads the custom resource definitions of the groups that rules of the configurations name.
func (f *Found) findDefinitions(ctx context.Context, client dynamic.Interface) error {
	all, err := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list customresourcedefinitions, for the kinds in the rules of the webhooks: %w", err)
	}
	for i := range all.Items {
		definition := &all.Items[i]
		group, _, err := unstructured.NestedString(definition.Object, "spec", "group")
		if err != nil || !f.names(group) {
			continue
		}
		definition.SetResourceVersion("")
		definition.SetUID("")
		definition.SetManagedFields(nil)
		delete(definition.Object, "status")
		// Remove the conversion webhook: the definition is applied to another server, which can't reach the webhooks
		// of the cluster.
		unstructured.RemoveNestedField(definition.Object, "spec", "conversion")
		f.Definitions = append(f.Definitions, definition)
	}
	return nil
}

// names tells whether a rule of the configurations names a group.
func (f *Found) names(group string) bool {
	for _, c := range f.Configurations {
		for i := range c.Hooks {
			for j := range c.Hooks[i].Rules {
				if slices.Contains(c.Hooks[i].Rules[j].APIGroups, group) {
					return true
				}
			}
		}
	}
	return false
}

// Proxied returns the address of a service in the API server's proxy, and a transport with the credentials of the
// kubeconfig.
func (f *Found) Proxied(service *admissionregistrationv1.ServiceReference) (webhooksuite.Endpoint, error) {
	if service == nil {
		return webhooksuite.Endpoint{}, errors.New("clientConfig: must have a url or a service")
	}
	base, _, err := rest.DefaultServerURL(f.config.Host, f.config.APIPath, schema.GroupVersion{}, rest.IsConfigTransportTLS(*f.config))
	if err != nil {
		return webhooksuite.Endpoint{}, err
	}
	port, at := int32(443), "/"
	if service.Port != nil {
		port = *service.Port
	}
	if service.Path != nil {
		at = *service.Path
	}
	u := url.URL{Scheme: base.Scheme, Host: base.Host, Path: path.Join("/", base.Path, "api/v1/namespaces", service.Namespace, "services", fmt.Sprintf("https:%s:%d", service.Name, port), "proxy", at)}
	return webhooksuite.Endpoint{URL: u.String(), Transport: f.transport}, nil
}

// remedies has the answers of an API server that can't call a service: the code, a part of the message, and the change
// that helps. The first entry that matches an answer counts.
var remedies = []struct {
	code         int
	part, remedy string
}{
	{http.StatusForbidden, "", "give the user of the kubeconfig the verb create for services/proxy in the namespace"},
	{http.StatusNotFound, "", "clientConfig.service must name a service of the cluster that has a pod"},
	{http.StatusServiceUnavailable, "no service port", "clientConfig.service.port, by default 443, must be a port of the service"},
	{http.StatusServiceUnavailable, "no endpoints",
		"a pod that the service selects must be ready, and the port must have the same name in the service and in its endpoints"},
	{http.StatusServiceUnavailable, "error trying to reach service: dial ",
		"a pod must accept connections on the targetPort of the service"},
	{http.StatusServiceUnavailable, "HTTP response to HTTPS client", "the webhook must serve TLS"},
	{http.StatusServiceUnavailable, "error trying to reach service: tls: ", "the webhook must serve TLS, of the version 1.2 or 1.3"},
}

// Reach calls each service of the webhooks once through the API server's proxy, and returns an error for each service
// that the API server can't call. Reach ignores webhooks that are called at another address. Without Reach, a run would
// report the same cause once for each case.
func (f *Found) Reach(ctx context.Context, hooks []webhooksuite.Hook) error {
	var errs []error
	tried := map[string]bool{}
	for i := range hooks {
		if hooks[i].Endpoint.Transport == nil {
			continue
		}
		if service, _, _ := strings.Cut(hooks[i].Endpoint.URL, "/proxy"); !tried[service] {
			tried[service] = true
			errs = append(errs, f.reach(ctx, &hooks[i]))
		}
	}
	return errors.Join(errs...)
}

func (f *Found) reach(ctx context.Context, hook *webhooksuite.Hook) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.Endpoint.URL, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := hook.Endpoint.Transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("webhook %s: calling its service through the API server, at %s: %w", hook.Name, hook.Endpoint.URL, err)
	}
	defer response.Body.Close()
	answer := metav1.Status{}
	if json.NewDecoder(response.Body).Decode(&answer) != nil {
		return nil // the answer is the webhook's
	}
	remedy := remedyOf(response.StatusCode, &answer)
	if remedy == "" {
		return nil
	}
	service := hook.Entry.ClientConfig.Service
	return fmt.Errorf("webhook %s: the API server can't call the service %s/%s: %s: %s; or give another address of the webhook by --url, such as an address of kubectl port-forward",
		hook.Name, service.Namespace, service.Name, answer.Message, remedy)
}

// remedyOf returns the remedy for an answer in which the API server says that it can't call a service, or "" for any
// other answer. A webhook may answer with a Status too, but its Status isn't about services. If the webhook ends the
// connection without an answer, the API server says so, and remedyOf returns "": Reach sends {} in place of an
// AdmissionReview, and a case of the suite reports a webhook that can't answer such messages.
func remedyOf(code int, answer *metav1.Status) string {
	about := answer.Details != nil && answer.Details.Kind == "services"
	if answer.Kind != "Status" || code != http.StatusServiceUnavailable && !about {
		return ""
	}
	for _, r := range remedies {
		if r.code == code && strings.Contains(answer.Message, r.part) {
			return r.remedy
		}
	}
	return ""
}
