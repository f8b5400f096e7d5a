package miniapitest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// WithWebhook serves a handler at a path from the start, as Server.Webhook does later. Each path can have only one
// handler.
func WithWebhook(path string, handler http.Handler) Option {
	return func(o *options) error {
		if err := checkWebhook(path, handler); err != nil {
			return err
		}
		if _, given := o.handlers[path]; given {
			return fmt.Errorf("webhook path %q: the path has a handler already: give each path to one WithWebhook", path)
		}
		o.handlers[path] = handler
		return nil
	}
}

// WithWebhookManifests installs the webhook configurations in files, globs or folders, unchanged, after all other
// objects. Other objects are skipped, and so are kustomize's patches in folders and globs. For each service in the
// configurations, the server calls the handlers of WithWebhook. Neither a Service object nor a caBundle is needed.
// Start fails if the server can't reach one of the webhooks.
func WithWebhookManifests(paths ...string) Option {
	return func(o *options) error { return o.addConfigurations(manifests.Reader{}, paths) }
}

// WithWebhookManifestsFS is WithWebhookManifests for files of fsys, such as an embed.FS.
func WithWebhookManifestsFS(fsys fs.FS, paths ...string) Option {
	return func(o *options) error {
		if isNil(fsys) {
			return errors.New("WithWebhookManifestsFS: the file system is nil: give a file system, or use WithWebhookManifests for files of this machine")
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
		return fmt.Errorf("WithWebhookManifests: no webhook configuration in %q: name the files with the configurations", paths)
	}
	return add(&o.configurations, objects)
}

// checkWholeConfiguration returns an error if a configuration is only a patch for kustomize, which adds an annotation
// for cert-manager. Applied as an object, the patch would replace the configuration.
func checkWholeConfiguration(u *unstructured.Unstructured) error {
	if _, found := u.Object["webhooks"]; !found {
		return errors.New("webhooks must be set")
	}
	return nil
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
