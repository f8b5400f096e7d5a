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

// WithWebhook serves a handler at a path from the start, as Server.Webhook does later. A path has one handler.
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

// WithWebhookManifests installs the webhook configurations in files, globs or folders, unchanged, after all other
// objects. Other objects and kustomize's patches are skipped. The services in them are the handlers of WithWebhook, and
// the server trusts these without a caBundle; no Service object is needed. Start fails if it can't reach one of the
// webhooks.
func WithWebhookManifests(paths ...string) Option {
	return func(o *options) error { return o.addConfigurations(manifests.Reader{}, paths) }
}

// WithWebhookManifestsFS is WithWebhookManifests for files of fsys, such as an embed.FS.
func WithWebhookManifestsFS(fsys fs.FS, paths ...string) Option {
	return func(o *options) error {
		if isNil(fsys) {
			return errors.New("WithWebhookManifestsFS: the file system is nil: WithWebhookManifests reads files of this machine")
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

// checkWholeConfiguration returns an error for kustomize's patch of a configuration, which adds an annotation for
// cert-manager: applied as an object, the patch would replace the configuration.
func checkWholeConfiguration(u *unstructured.Unstructured) error {
	if _, found := u.Object["webhooks"]; !found {
		return errors.New("webhooks must be set")
	}
	return nil
}

// WithWebhookService makes a service the handlers of WithWebhook, for configurations that the test creates, or that
// come by WithManifests or WithObjects.
func WithWebhookService(namespace, name string) Option {
	return func(o *options) error {
		if namespace == "" || name == "" {
			return fmt.Errorf("the service of webhooks needs a namespace and a name: %q", namespace+"/"+name)
		}
		o.services = append(o.services, admission.ServicePort{Namespace: namespace, Name: name})
		return nil
	}
}

// resolveServices gives the services of webhooks the fixture's address, except those that have another address in the
// options.
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
	maps.Copy(addresses, o.server.Admission.Services) // the map may be the test's own
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

// placed reports whether the options give the service an address, whatever its Service object has.
func (o *options) placed(service *utilwebhook.ClientConfigService) bool {
	return o.placeOf(service) != ""
}

// placeOf returns the address that the options give a service's port, or else the service.
func (o *options) placeOf(service *utilwebhook.ClientConfigService) string {
	port := admission.ServicePort{Namespace: service.Namespace, Name: service.Name, Port: service.Port}
	if address, placed := o.server.Admission.Services[port]; placed {
		return address
	}
	port.Port = 0
	return o.server.Admission.Services[port]
}
