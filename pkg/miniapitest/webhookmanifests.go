package miniapitest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// WithWebhook serves a handler at a path from the start, as Server.Webhook does later. Each
// path has one handler.
func WithWebhook(path string, handler http.Handler) Option {
	return func(o *options) error {
		if err := checkWebhook(path, handler); err != nil {
			return err
		}
		if _, given := o.handlers[path]; given {
			return fmt.Errorf("webhook %s: it has a handler already: give each path to one WithWebhook", path)
		}
		o.handlers[path] = handler
		return nil
	}
}

// WithWebhookManifests installs the webhook configurations among the manifests of files,
// globs or folders, as they are, after all other objects; what else is there is passed
// over, and so are kustomize's patches. Services that they name are the handlers of
// WithWebhook, and trusted without a caBundle; no Service object is needed.
// Start fails unless each of the webhooks is reached.
func WithWebhookManifests(paths ...string) Option {
	return func(o *options) error { return o.addConfigurations(manifests.Reader{}, paths) }
}

// WithWebhookManifestsFS is WithWebhookManifests for the files of fsys, such as an embed.FS.
func WithWebhookManifestsFS(fsys fs.FS, paths ...string) Option {
	return func(o *options) error {
		if isNil(fsys) {
			return errors.New("the file system of webhook configurations is nil: WithWebhookManifests reads the machine's")
		}
		return o.addConfigurations(manifests.Reader{FS: fsys}, paths)
	}
}

func (o *options) addConfigurations(reader manifests.Reader, paths []string) error {
	reader.Wanted, reader.Patch = configurationKinds.nearly, checkWholeConfiguration
	objects, err := reader.Load(paths...)
	if err == nil {
		err = configurationKinds.check(objects)
	}
	if err != nil {
		return fmt.Errorf("webhook configurations: %w", err)
	}
	if len(objects) == 0 {
		return fmt.Errorf("no webhook configuration in %q", paths)
	}
	return add(&o.configurations, objects)
}

// checkWholeConfiguration tells a configuration from kustomize's patch of one, which adds
// an annotation for cert-manager: it would take the place of the configuration.
func checkWholeConfiguration(u *unstructured.Unstructured) error {
	if _, found := u.Object["webhooks"]; !found {
		return errors.New("webhooks must be set")
	}
	return nil
}

// WithWebhookService makes a service that webhooks name the handlers of WithWebhook, for
// configurations that the test itself creates, or that come by WithManifests or WithObjects.
func WithWebhookService(namespace, name string) Option {
	return func(o *options) error {
		if namespace == "" || name == "" {
			return fmt.Errorf("the service of webhooks needs a namespace and a name: %q", namespace+"/"+name)
		}
		o.services = append(o.services, admission.ServicePort{Namespace: namespace, Name: name})
		return nil
	}
}

// resolveServices sends the services that webhooks name to the fixture's own handlers,
// but for those that are said to be elsewhere.
func (o *options) resolveServices(address string) {
	services := o.services
	for _, object := range slices.Concat(o.definitions, o.configurations) {
		for _, webhook := range object.webhooks {
			if s := webhook.Service; s != nil {
				services = append(services, admission.ServicePort{Namespace: s.Namespace, Name: s.Name})
			}
		}
	}
	addresses := admission.ServiceAddresses{}
	maps.Copy(addresses, o.server.Admission.Services) // which may be the test's own
	o.server.Admission.Services = addresses
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

// placed says that a service is somewhere whatever the API says of it.
func (o *options) placed(service *utilwebhook.ClientConfigService) bool {
	return o.placeOf(service) != ""
}

// placeOf is where a service is that is placed: its port before the service.
func (o *options) placeOf(service *utilwebhook.ClientConfigService) string {
	port := admission.ServicePort{Namespace: service.Namespace, Name: service.Name, Port: service.Port}
	if address, placed := o.server.Admission.Services[port]; placed {
		return address
	}
	port.Port = 0
	return o.server.Admission.Services[port]
}
