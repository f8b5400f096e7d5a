package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// WithCRDs installs the CustomResourceDefinitions among the manifests of files, globs or
// folders, before all other objects; what else is there is passed over. Services that
// convert between their versions are the handlers of WithWebhook, as those of
// WithWebhookManifests are; Start fails unless each of them is reached.
func WithCRDs(paths ...string) Option {
	return func(o *options) error {
		objects, err := manifests.Reader{Wanted: isDefinition}.Load(paths...)
		if err != nil {
			return fmt.Errorf("custom resource definitions: %w", err)
		}
		if len(objects) == 0 {
			return fmt.Errorf("no CustomResourceDefinition in %q", paths)
		}
		for _, object := range objects {
			conversion, err := conversionOf(object)
			if err != nil {
				return err
			}
			o.conversions = append(o.conversions, conversion...)
		}
		o.definitions = append(o.definitions, objects...)
		return nil
	}
}

// WithManifests applies the manifests of files, globs or folders, in order: custom
// resources may follow their definitions.
func WithManifests(paths ...string) Option {
	return func(o *options) error { return o.addManifests(manifests.Reader{}, paths) }
}

// WithManifestsFS is WithManifests for the files of fsys, such as an embed.FS.
func WithManifestsFS(fsys fs.FS, paths ...string) Option {
	return func(o *options) error {
		if fsys == nil {
			return errors.New("the file system of manifests is nil: WithManifests reads the machine's")
		}
		return o.addManifests(manifests.Reader{FS: fsys}, paths)
	}
}

func (o *options) addManifests(reader manifests.Reader, paths []string) error {
	if len(paths) == 0 {
		return errors.New("manifests need a path: a file, a glob or a folder")
	}
	objects, err := reader.Load(paths...)
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	o.objects = append(o.objects, objects...)
	return nil
}

// WithObjects applies objects, in order with those of WithManifests: of the types of
// k8s.io/api and apiextensions/v1, or others that say their apiVersion and kind.
func WithObjects(objects ...runtime.Object) Option {
	return func(o *options) error {
		for i, object := range objects {
			if value := reflect.ValueOf(object); object == nil || value.Kind() == reflect.Pointer && value.IsNil() {
				return fmt.Errorf("object %d, %T, is nil", i+1, object)
			}
			u, err := asUnstructured(object)
			if err != nil {
				return fmt.Errorf("object %d, %T: %w", i+1, object, err)
			}
			o.objects = append(o.objects, manifests.Object{Unstructured: u, Source: fmt.Sprintf("object %d", i+1)})
		}
		return nil
	}
}

// Apply applies the manifests of files, globs or folders to a running server, in order.
func (s *Server) Apply(ctx context.Context, paths ...string) error {
	objects, err := manifests.Load(paths...)
	if err != nil {
		return err
	}
	return manifests.Apply(ctx, s.config, objects)
}

func isDefinition(gvk schema.GroupVersionKind) bool {
	return gvk.Group == apiextensionsv1.GroupName && gvk.Kind == "CustomResourceDefinition"
}

func asUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		gvk, err := kindOf(object)
		if err != nil {
			return nil, err
		}
		u.SetGroupVersionKind(gvk)
	}
	// What Go types can't leave out isn't meant.
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	if status, ok := content["status"].(map[string]any); ok && len(status) == 0 {
		delete(content, "status")
	}
	return u, nil
}

func kindOf(object runtime.Object) (schema.GroupVersionKind, error) {
	definitions := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(definitions); err != nil {
		return schema.GroupVersionKind{}, err
	}
	for _, known := range []*runtime.Scheme{scheme.Scheme, definitions} {
		if kinds, _, err := known.ObjectKinds(object); err == nil {
			return kinds[0], nil
		}
	}
	return schema.GroupVersionKind{}, errors.New("set its apiVersion and kind: the type isn't one of k8s.io/api")
}
