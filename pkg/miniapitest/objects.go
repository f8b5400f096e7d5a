package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests"
)

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
	reader.Wanted, reader.Patch, reader.KeepPatches = definitionKinds.nearly, checkWholeDefinition, true
	objects, err := reader.Load(paths...)
	if err == nil {
		err = definitionKinds.check(objects)
	}
	if err == nil {
		objects, err = patched(objects)
	}
	if err != nil {
		return fmt.Errorf("custom resource definitions: %w", err)
	}
	if len(objects) == 0 {
		return fmt.Errorf("WithCRDs: no CustomResourceDefinition in %q: name the files with the definitions", paths)
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
	reader.Patch = checkWholeDefinition
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
			found, err := asManifests(object, fmt.Sprintf("object %d", i+1))
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

// checkWholeDefinition returns an error if a definition is only a patch for kustomize. envtest uses the same rule.
func checkWholeDefinition(u *unstructured.Unstructured) error {
	if !manifests.IsDefinition(u.GroupVersionKind()) {
		return nil
	}
	for _, field := range []string{"group", "names"} {
		// An error means that the field has the wrong type. The server reports such a field.
		if _, found, err := unstructured.NestedFieldNoCopy(u.Object, "spec", field); !found && err == nil {
			return fmt.Errorf("spec.%s must be set", field)
		}
	}
	return nil
}

// patched applies the patches among the objects to the definitions, and returns the definitions.
func patched(objects []manifests.Object) ([]manifests.Object, error) {
	isPatch := func(o manifests.Object) bool { return checkWholeDefinition(o.Unstructured) != nil }
	definitions := slices.DeleteFunc(slices.Clone(objects), isPatch)
	for _, patch := range slices.DeleteFunc(objects, func(o manifests.Object) bool { return !isPatch(o) }) {
		found := false
		for i, definition := range definitions { // two paths may give the same definition, and both must be patched
			if definition.GetName() != patch.GetName() {
				continue
			}
			found = true
			definitions[i].Unstructured = &unstructured.Unstructured{Object: merged(definition.Object, patch.Object)}
			definitions[i].Content = nil
		}
		if !found {
			return nil, fmt.Errorf("%s: CustomResourceDefinition %s: %w; if the document is a patch for kustomize, name the file of the definition too",
				patch.Source, patch.GetName(), checkWholeDefinition(patch.Unstructured))
		}
	}
	return definitions, nil
}

// merged returns a copy of an object with a JSON merge patch (RFC 7386). It doesn't change the object, because the
// cache of files may share it.
func merged(object, patch map[string]any) map[string]any {
	result := map[string]any{}
	maps.Copy(result, object)
	for field, value := range patch {
		change, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(result, field)
		case isMap:
			below, _ := object[field].(map[string]any)
			result[field] = merged(below, change)
		default:
			result[field] = value
		}
	}
	return result
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

// definitionTypes is the import path of the Go types of custom resource definitions. Importing the package would make
// each test link an API server, so kindOf compares the path.
const definitionTypes = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

// wantedKinds are the kinds of a group, in any version, that an option applies. The option skips objects of other
// kinds.
type wantedKinds struct {
	group string
	kinds []string
	// others are further kinds of the group. The option skips these kinds, and doesn't take them for misspelled kinds.
	others []string
}

var (
	configurationKinds = wantedKinds{
		group: admissionregistrationv1.GroupName,
		kinds: []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"},
		others: []string{
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		},
	}
	definitionKinds = wantedKinds{group: manifests.DefinitionGroup, kinds: []string{"CustomResourceDefinition"}}
)

func (w wantedKinds) has(gvk schema.GroupVersionKind) bool {
	return gvk.Group == w.group && slices.Contains(w.kinds, gvk.Kind)
}

// nearly tells whether an object has the group or the kind of a wanted kind. If the object has only one of them, the
// other is probably misspelled, so the object must not be skipped.
func (w wantedKinds) nearly(gvk schema.GroupVersionKind) bool {
	return slices.Contains(w.kinds, gvk.Kind) || gvk.Group == w.group && !slices.Contains(w.others, gvk.Kind)
}

// check returns an error for the first object that isn't of a wanted kind.
func (w wantedKinds) check(objects []manifests.Object) error {
	for _, object := range objects {
		if !w.has(object.GroupVersionKind()) {
			return fmt.Errorf("%s: %s %s of %s: must be %s of %s",
				object.Source, object.GetKind(), object.GetName(), object.GetAPIVersion(), strings.Join(w.kinds, " or "), w.group)
		}
	}
	return nil
}
