package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

// definitionTypes is the import path of the Go types of custom resource definitions. Importing the package would make
// each test link an API server, so kindOf compares the path.
const definitionTypes = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// WithCRDs installs the CustomResourceDefinitions in files, globs or folders, before all other objects. Other objects
// are skipped. Kustomize's patches of definitions are applied if their files are named, and skipped in folders and
// globs, because a project needn't use all of them. If a definition has a conversion webhook with a service, the server
// calls the handlers of WithWebhook instead of the service. Start fails if the server can't reach such a webhook.
func WithCRDs(paths ...string) Option {
	return func(o *options) error { return o.addDefinitions(manifests.Reader{Documents: documents}, paths) }
}

// WithCRDsFS is WithCRDs for files of fsys, such as an embed.FS.
func WithCRDsFS(fsys fs.FS, paths ...string) Option {
	return func(o *options) error {
		if isNil(fsys) {
			return errors.New("WithCRDsFS: the file system is nil: give a file system, or use WithCRDs for files of this machine")
		}
		return o.addDefinitions(manifests.Reader{FS: fsys, Documents: documents}, paths)
	}
}

func (o *options) addDefinitions(reader manifests.Reader, paths []string) error {
	reader.Wanted, reader.Patch, reader.KeepPatches = manifests.Definitions.Nearly, manifests.CheckWholeDefinition, true
	objects, err := reader.Load(paths...)
	if err == nil {
		err = manifests.Definitions.Check(objects)
	}
	if err == nil {
		objects, err = manifests.ApplyPatches(objects)
	}
	if err != nil {
		return fmt.Errorf("custom resource definitions: %w", err)
	}
	if len(objects) == 0 {
		return fmt.Errorf("custom resource definitions: none in %q: name the files with the definitions", paths)
	}
	return add(&o.definitions, objects)
}

var errNoManifests = errors.New("manifests: give at least one path of a file, a glob or a folder")

// WithManifests applies the objects in files, globs or folders, in order: custom resources may follow their
// definitions. If an object configures a webhook, Start fails if the server can't reach the webhook. The server finds
// the address of the webhook's service by the Service object, or by WithWebhookService.
func WithManifests(paths ...string) Option {
	return func(o *options) error { return o.addManifests(manifests.Reader{Documents: documents}, paths) }
}

// WithManifestsFS is WithManifests for files of fsys, such as an embed.FS.
func WithManifestsFS(fsys fs.FS, paths ...string) Option {
	return func(o *options) error {
		if isNil(fsys) {
			return errors.New("WithManifestsFS: the file system is nil: give a file system, or use WithManifests for files of this machine")
		}
		return o.addManifests(manifests.Reader{FS: fsys, Documents: documents}, paths)
	}
}

func (o *options) addManifests(reader manifests.Reader, paths []string) error {
	if len(paths) == 0 {
		return errNoManifests
	}
	reader.Patch = manifests.CheckWholeDefinition
	objects, err := reader.Load(paths...)
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	return add(&o.objects, objects)
}

// WithObjects applies objects. The objects of several options WithObjects and WithManifests are applied in the order of
// the options. An object has a type of k8s.io/api or apiextensions/v1, or any other type if its apiVersion and kind are
// set. A list stands for its items.
func WithObjects(objects ...runtime.Object) Option {
	return func(o *options) error {
		for i, object := range objects {
			found, err := asManifests(object, fmt.Sprintf("WithObjects: object %d", i+1))
			if err != nil {
				return err
			}
			if err := add(&o.objects, found); err != nil {
				return err
			}
		}
		return nil
	}
}

// Apply applies the objects in files, globs or folders to the running server, in order.
func (s *Server) Apply(ctx context.Context, paths ...string) error {
	if len(paths) == 0 {
		return errNoManifests
	}
	if err := s.checkRunning(); err != nil {
		return err
	}
	objects, err := manifests.Load(paths...)
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	return explainUnknown(s.applier().Apply(ctx, objects))
}

// applier returns an Applier for the server. Warnings about objects go to the server's log.
func (s *Server) applier() manifests.Applier {
	return manifests.Applier{Config: s.config, Warn: func(object manifests.Object, text string) {
		s.log.note("warning: %s: %s %s: %s", object.Source, object.GetKind(), object.GetName(), text)
	}}
}

// explainUnknown adds advice to an error about a kind that isn't served.
func explainUnknown(err error) error {
	if !meta.IsNoMatchError(err) {
		return err
	}
	unknown := &meta.NoKindMatchError{}
	if errors.As(err, &unknown) && manifests.IsDefinition(unknown.GroupKind.WithVersion("")) {
		return fmt.Errorf("%w: the apiVersion of a CustomResourceDefinition must be %s/v1", err, manifests.DefinitionGroup)
	}
	return fmt.Errorf("%w: apply the CustomResourceDefinition before the custom resource or together with it, or use WithCRDs, which installs definitions before everything else; WithAPIs and Legacy serve versions that are off by default", err)
}

// asManifests returns an object as a manifest. For a list, it returns the items.
func asManifests(object runtime.Object, source string) ([]manifests.Object, error) {
	if isNil(object) {
		return nil, fmt.Errorf("%s, %T: must not be nil", source, object)
	}
	switch o := object.(type) {
	case *runtime.Unknown: // an item of a v1 List that isn't decoded yet
		return manifests.Reader{}.Decode(source, o.Raw)
	case *unstructured.Unstructured:
		if o.IsList() {
			list, err := o.ToList()
			if err != nil {
				return nil, fmt.Errorf("%s, %T: %w", source, object, err)
			}
			object = list
		}
	}
	if !meta.IsListType(object) {
		u, err := asUnstructured(object)
		if err != nil {
			return nil, fmt.Errorf("%s, %T: %w", source, object, err)
		}
		if err := manifests.Check(u); err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		return []manifests.Object{{Unstructured: u, Source: source}}, nil
	}
	items, err := meta.ExtractListWithAlloc(object)
	if err != nil {
		return nil, fmt.Errorf("%s, %T: %w", source, object, err)
	}
	var objects []manifests.Object
	for i, item := range items {
		found, err := asManifests(item, fmt.Sprintf("%s, item %d", source, i+1))
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
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
	// The JSON of Go types has these fields even if they aren't set.
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	if status, ok := content["status"].(map[string]any); ok && len(status) == 0 {
		delete(content, "status")
	}
	return u, nil
}

// kindOf returns the kind of an object by its Go type, for the types of k8s.io/api and apiextensions/v1.
func kindOf(object runtime.Object) (schema.GroupVersionKind, error) {
	if kinds, _, err := scheme.Scheme.ObjectKinds(object); err == nil {
		return kinds[0], nil
	}
	if t := reflect.Indirect(reflect.ValueOf(object)).Type(); t.PkgPath() == definitionTypes {
		return schema.GroupVersionKind{Group: manifests.DefinitionGroup, Version: "v1", Kind: t.Name()}, nil
	}
	return schema.GroupVersionKind{}, errors.New("apiVersion and kind of the object must be set, because the Go type isn't one of k8s.io/api")
}
