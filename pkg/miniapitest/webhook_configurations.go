package miniapitest

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/engine"
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
	reader.Wanted, reader.Patch = manifests.WebhookConfigurations.Nearly, checkWholeConfiguration
	objects, err := reader.Load(paths...)
	if err == nil {
		err = manifests.WebhookConfigurations.Check(objects)
	}
	if err != nil {
		return fmt.Errorf("reading webhook configurations: %w", err)
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

// callers maps a kind of webhook configuration to the admission plugin that calls its webhooks.
var callers = map[string]string{
	"MutatingWebhookConfiguration":   "MutatingAdmissionWebhook",
	"ValidatingWebhookConfiguration": "ValidatingAdmissionWebhook",
}

// neededCallers returns the admission plugins that call the webhooks of the options. If one of these plugins is off,
// Start must fail, because the server would never call the webhooks.
func (o *options) neededCallers() []engine.Caller {
	var needed []engine.Caller
	for _, object := range slices.Concat(o.objects, o.configurations) {
		if len(object.webhooks) == 0 || !manifests.WebhookConfigurations.Has(object.GroupVersionKind()) {
			continue
		}
		needed = append(needed, engine.Caller{
			Plugin:        callers[object.GetKind()],
			Configuration: fmt.Sprintf("%s: %s %s", object.Source, object.GetKind(), object.GetName()),
		})
	}
	return needed
}

// checkReplaced returns an error if two different configurations have the same kind and name, because the second one
// would replace the first. Projects that kubebuilder has made all use the same names.
func (o *options) checkReplaced() error {
	for i, object := range o.configurations {
		for _, earlier := range o.configurations[:i] {
			if object.GetKind() == earlier.GetKind() && object.GetName() == earlier.GetName() && !equality.Semantic.DeepEqual(object.Object.Object, earlier.Object.Object) {
				return fmt.Errorf("%s: %s %s would replace the object of the same name in %s: rename one of them",
					object.Source, object.GetKind(), object.GetName(), earlier.Source)
			}
		}
	}
	return nil
}
