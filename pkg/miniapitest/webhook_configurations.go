package miniapitest

import (
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

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
		return fmt.Errorf("webhook configurations: none in %q: name the files with the configurations", paths)
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
