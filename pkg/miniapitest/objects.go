package miniapitest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/miniapi-dev/miniapi/pkg/server/manifests"
)

// WithCRDs installs the CustomResourceDefinitions among the manifests of files, globs or
// folders, before all other objects; what else is there is passed over. Kustomize's patches
// of definitions are applied if their files are named, and passed over in folders and globs,
// as not all that are there need be in use. Services that convert between versions are the
// handlers of WithWebhook, as those of WithWebhookManifests are; Start fails unless each of
// them is reached.
func WithCRDs(paths ...string) Option {
	return func(o *options) error { return o.addDefinitions(manifests.Reader{}, paths) }
}

// WithCRDsFS is WithCRDs for the files of fsys, such as an embed.FS.
func WithCRDsFS(fsys fs.FS, paths ...string) Option {
	return func(o *options) error {
		if isNil(fsys) {
			return errors.New("the file system of definitions is nil: WithCRDs reads the machine's")
		}
		return o.addDefinitions(manifests.Reader{FS: fsys}, paths)
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
		return fmt.Errorf("WithCRDs: no CustomResourceDefinition in %q", paths)
	}
	return add(&o.definitions, objects)
}

var errNoManifests = errors.New("manifests need a path: a file, a glob or a folder")

// WithManifests applies the manifests of files, globs or folders, in order: custom
// resources may follow their definitions. Start fails unless each webhook among them is
// reached; services that they name are where the server finds them, or where
// WithWebhookService says.
func WithManifests(paths ...string) Option {
	return func(o *options) error { return o.addManifests(manifests.Reader{}, paths) }
}

// WithManifestsFS is WithManifests for the files of fsys, such as an embed.FS.
func WithManifestsFS(fsys fs.FS, paths ...string) Option {
	return func(o *options) error {
		if isNil(fsys) {
			return errors.New("the file system of manifests is nil: WithManifests reads the machine's")
		}
		return o.addManifests(manifests.Reader{FS: fsys}, paths)
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

// WithObjects applies objects, in order with those of WithManifests and as these: of the
// types of k8s.io/api and apiextensions/v1, or others that say their apiVersion and kind.
// A list stands for its items.
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

// Apply applies the manifests of files, globs or folders to a running server, in order.
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
	return explainUnknown((manifests.Applier{Config: s.config}).Apply(ctx, objects))
}

// explainUnknown says what to do when a kind isn't served.
func explainUnknown(err error) error {
	if !meta.IsNoMatchError(err) {
		return err
	}
	unknown := &meta.NoKindMatchError{}
	if errors.As(err, &unknown) && manifests.IsDefinition(unknown.GroupKind.WithVersion("")) {
		return fmt.Errorf("%w: definitions are %s alone", err, apiextensionsv1.SchemeGroupVersion)
	}
	return fmt.Errorf("%w: the definition of a custom resource must be among what is applied with it or before it, and WithCRDs installs definitions before everything else; WithAPIs and Legacy serve versions that are off by default", err)
}

// checkWholeDefinition tells a definition from kustomize's patch of one, as envtest does.
func checkWholeDefinition(u *unstructured.Unstructured) error {
	if !manifests.IsDefinition(u.GroupVersionKind()) {
		return nil
	}
	for _, field := range []string{"group", "names"} {
		// What isn't a map is the server's to refuse.
		if _, found, err := unstructured.NestedFieldNoCopy(u.Object, "spec", field); !found && err == nil {
			return fmt.Errorf("spec.%s must be set", field)
		}
	}
	return nil
}

// patched are the definitions, with the patches among them applied.
func patched(objects []manifests.Object) ([]manifests.Object, error) {
	isPatch := func(o manifests.Object) bool { return checkWholeDefinition(o.Unstructured) != nil }
	definitions := slices.DeleteFunc(slices.Clone(objects), isPatch)
	for _, patch := range slices.DeleteFunc(objects, func(o manifests.Object) bool { return !isPatch(o) }) {
		found := false
		for _, definition := range definitions { // there may be several paths to the same one
			if definition.GetName() != patch.GetName() {
				continue
			}
			found = true
			if err := merge(definition.Unstructured, patch.Unstructured); err != nil {
				return nil, fmt.Errorf("%s: %w", patch.Source, err)
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: CustomResourceDefinition %s: %w; if this is kustomize's patch of one, name its definition with it",
				patch.Source, patch.GetName(), checkWholeDefinition(patch.Unstructured))
		}
	}
	return definitions, nil
}

// merge changes an object as a JSON merge patch says (RFC 7386).
func merge(object, patch *unstructured.Unstructured) error {
	before, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	change, err := patch.MarshalJSON()
	if err != nil {
		return err
	}
	after, err := jsonpatch.MergePatch(before, change)
	if err != nil {
		return err
	}
	return object.UnmarshalJSON(after)
}

// asManifests are the object, or the items of a list.
func asManifests(object runtime.Object, source string) ([]manifests.Object, error) {
	if isNil(object) {
		return nil, fmt.Errorf("%s, %T, is nil", source, object)
	}
	switch o := object.(type) {
	case *runtime.Unknown: // an item of a v1 List that nobody has read
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
