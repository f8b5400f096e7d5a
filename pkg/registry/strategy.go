package registry

import (
	"context"
	"reflect"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// Strategy is the strategy by which objects of a kind are created, updated and deleted. All kinds use this type. The
// fields and the Hooks of a Kind define how it differs from other kinds. Most methods implement interfaces of
// k8s.io/apiserver's package rest.
type Strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	Kind     *Kind
	Versions []schema.GroupVersion
	scheme   *runtime.Scheme
	// deps are passed to the Hooks.
	deps Dependencies
	// gates are those feature gates of the kind's fields that are off. shapeGates are those feature gates of its Shape
	// that are off.
	gates, shapeGates []Gate
}

var (
	_ rest.RESTCreateStrategy              = Strategy{}
	_ rest.RESTUpdateStrategy              = Strategy{}
	_ rest.RESTGracefulDeleteStrategy      = Strategy{}
	_ rest.GarbageCollectionDeleteStrategy = Strategy{}
	_ rest.ResetFieldsStrategy             = Strategy{}
	_ rest.DeclarativeValidationStrategy   = Strategy{}
)

// NamespaceScoped implements rest.RESTCreateStrategy.
func (s Strategy) NamespaceScoped() bool { return s.Kind.Namespaced }

// AllowCreateOnUpdate implements rest.RESTUpdateStrategy.
func (s Strategy) AllowCreateOnUpdate(context.Context) bool { return s.Kind.CreateOnUpdate }

// AllowUnconditionalUpdate implements rest.RESTUpdateStrategy.
func (s Strategy) AllowUnconditionalUpdate(ctx context.Context) bool {
	return !s.Kind.ConditionalUpdate || slices.Contains(s.Kind.UnconditionalThrough, RequestVersion(ctx))
}

// Canonicalize implements rest.RESTCreateStrategy.
func (s Strategy) Canonicalize(obj runtime.Object) { s.Kind.hooks().canonicalize(obj) }

// PrepareForCreate implements rest.RESTCreateStrategy.
func (s Strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	if s.Kind.Status && !s.Kind.StatusOnCreate {
		clearField(obj, statusField)
	}
	if s.Kind.Generation {
		MetaOf(obj).SetGeneration(1)
	}
	s.DropGated(obj, nil)
	s.Kind.hooks().prepareForCreate(ctx, obj)
}

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s Strategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if s.Kind.Status && !s.Kind.StatusOnUpdate {
		copyField(obj, old, statusField)
	}
	s.DropGated(obj, old)
	s.Kind.hooks().prepareForUpdate(ctx, obj, old)
	if !s.Kind.Generation {
		return
	}
	generation := MetaOf(old).GetGeneration()
	if s.SpecChanged(obj, old) {
		generation++
	}
	MetaOf(obj).SetGeneration(generation)
}

// SpecChanged reports whether an update changes the desired state. If the kind has a generation, this change increases
// the generation.
func (s Strategy) SpecChanged(obj, old runtime.Object) bool {
	return s.Kind.hooks().specChanged(obj, old)
}

// Validate implements rest.RESTCreateStrategy.
func (s Strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return s.judge(
		func() field.ErrorList { return append(s.Kind.hooks().validate(ctx, obj), s.ValidateShape(obj)...) },
		func() field.ErrorList { return s.Kind.hooks().authorize(ctx, s.deps, obj, nil) })
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s Strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return s.judge(
		func() field.ErrorList {
			return append(s.Kind.hooks().validateUpdate(ctx, obj, old), s.ValidateShape(obj)...)
		},
		func() field.ErrorList { return s.Kind.hooks().authorize(ctx, s.deps, obj, old) })
}

// judge returns the errors of validation or, if the object is valid, the errors of authorization. With
// HooksOf.AuthorizeFirst, it returns the errors of authorization, and then the errors of validation.
func (s Strategy) judge(validate, authorize func() field.ErrorList) field.ErrorList {
	if s.Kind.hooks().authorizesFirst() {
		return append(authorize(), s.InForce(validate())...)
	}
	if errs := s.InForce(validate()); len(errs) > 0 {
		return errs
	}
	return authorize()
}

// InForce returns the errors of validation without those that don't hold with the feature gates of the server.
func (s Strategy) InForce(errs field.ErrorList) field.ErrorList {
	return validation.InForce(errs, s.deps.gates())
}

// WarningsOnCreate implements rest.RESTCreateStrategy.
func (s Strategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	return append(s.Kind.hooks().warnings(ctx, obj, nil), s.Kind.hooks().warningsOfOthers(s.deps, obj)...)
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (s Strategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	return append(s.Kind.hooks().warnings(ctx, obj, old), s.Kind.hooks().warningsOfOthers(s.deps, obj)...)
}

// CheckGracefulDelete implements rest.RESTGracefulDeleteStrategy.
func (s Strategy) CheckGracefulDelete(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	return s.Kind.hooks().gracefulDelete(ctx, obj, options)
}

// DefaultGarbageCollectionPolicy implements rest.GarbageCollectionDeleteStrategy.
func (s Strategy) DefaultGarbageCollectionPolicy(ctx context.Context) rest.GarbageCollectionPolicy {
	switch {
	case s.Kind.NoDependents:
		return rest.Unsupported
	case slices.Contains(s.Kind.OrphanThrough, RequestVersion(ctx)):
		return rest.OrphanDependents
	}
	return rest.DeleteDependents
}

// GetResetFields returns the fields that a server-side apply at the main endpoint never owns.
func (s Strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := slices.Clone(s.Kind.Resets)
	if s.Kind.Status && !s.Kind.StatusOnUpdate {
		fields = append(fields, "status")
	}
	if len(fields) == 0 {
		return nil
	}
	return s.ResetFields(fields)
}

// ResetFields returns the fields at the dotted paths, as a set for each version.
func (s Strategy) ResetFields(paths []string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range paths {
		var elements fieldpath.Path
		for _, name := range strings.Split(path, ".") {
			elements = append(elements, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(elements)
	}
	fields := make(map[fieldpath.APIVersion]*fieldpath.Set, len(s.Versions))
	for _, gv := range s.Versions {
		fields[fieldpath.APIVersion(gv.String())] = set
	}
	return fields
}

// StatusStrategy is the update strategy of the status subresource. An update changes the status and, unless the
// kind has StatusKeepsMetadata, metadata.
type StatusStrategy struct{ Strategy }

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s StatusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	copyAllBut(obj, old, metaField, typeField, statusField)
	if s.Kind.StatusKeepsMetadata {
		// This call doesn't reset the name and the uid: the store refuses to change them.
		metav1.ResetObjectMetaForStatus(MetaOf(obj), MetaOf(old))
	}
	s.DropGated(obj, old)
	s.Kind.hooks().prepareForStatusUpdate(ctx, obj, old)
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s StatusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return s.judge(
		func() field.ErrorList { return s.Kind.hooks().validateStatusUpdate(ctx, obj, old) },
		func() field.ErrorList { return s.Kind.hooks().authorizeStatus(ctx, s.deps, obj, old) })
}

// WarningsOnUpdate implements rest.RESTUpdateStrategy.
func (s StatusStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	return s.Kind.hooks().statusWarnings(ctx, obj, old)
}

// GetResetFields returns the fields that a server-side apply at the status endpoint never owns.
func (s StatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := append([]string{"spec"}, s.Kind.StatusResets...)
	if s.Kind.StatusKeepsMetadata {
		fields = append(fields, "metadata")
	}
	return s.ResetFields(fields)
}

// The Go names of fields that kinds of k8s.io/api have in common.
const (
	typeField   = "TypeMeta"
	metaField   = "ObjectMeta"
	statusField = "Status"
)

// MetaOf returns the metadata of an object. The object must be of a type in the table.
func MetaOf(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		// This doesn't happen: TestTableTypes checks that every type in the table has metadata.
		return &metav1.ObjectMeta{}
	}
	return m
}

func clearField(obj runtime.Object, name string) {
	if f := reflect.ValueOf(obj).Elem().FieldByName(name); f.IsValid() {
		f.SetZero()
	}
}

// CopyStatus copies the status of the second object to the first object. Both objects must be of the same kind.
func CopyStatus(obj, from runtime.Object) { copyField(obj, from, statusField) }

func copyField(obj, old runtime.Object, name string) {
	if f := reflect.ValueOf(obj).Elem().FieldByName(name); f.IsValid() {
		f.Set(reflect.ValueOf(old).Elem().FieldByName(name))
	}
}

// copyAllBut copies all fields of old to obj, except the fields with the names in except.
func copyAllBut(obj, old runtime.Object, except ...string) {
	for _, name := range fieldsBut(obj, except...) {
		copyField(obj, old, name)
	}
}

// DesiredStateDiffers reports whether two objects of a kind differ in a field other than apiVersion, kind, metadata and
// status.
func DesiredStateDiffers(obj, old runtime.Object) bool {
	a, b := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
	for _, name := range fieldsBut(obj, metaField, typeField, statusField) {
		if !apiequality.Semantic.DeepEqual(a.FieldByName(name).Interface(), b.FieldByName(name).Interface()) {
			return true
		}
	}
	return false
}

func fieldsBut(obj runtime.Object, except ...string) []string {
	t := reflect.TypeOf(obj).Elem()
	var names []string
next:
	for i := range t.NumField() {
		name := t.Field(i).Name
		for _, e := range except {
			if name == e {
				continue next
			}
		}
		names = append(names, name)
	}
	return names
}
