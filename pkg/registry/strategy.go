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
)

// strategy is how every row's objects are created, updated and deleted. What a row
// does differently comes from its fields and Hooks.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind     *Kind
	versions []schema.GroupVersion
	// deps are what hooks may ask. newStorage sets them.
	deps Dependencies
}

var (
	_ rest.RESTCreateStrategy              = strategy{}
	_ rest.RESTUpdateStrategy              = strategy{}
	_ rest.RESTGracefulDeleteStrategy      = strategy{}
	_ rest.GarbageCollectionDeleteStrategy = strategy{}
	_ rest.ResetFieldsStrategy             = strategy{}
)

func newStrategy(typer runtime.ObjectTyper, kind *Kind, versions []schema.GroupVersion) strategy {
	return strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind, versions: versions}
}

func (s strategy) NamespaceScoped() bool { return s.kind.Namespaced }

func (s strategy) AllowCreateOnUpdate(context.Context) bool { return s.kind.CreateOnUpdate }

func (s strategy) AllowUnconditionalUpdate(context.Context) bool { return !s.kind.ConditionalUpdate }

func (s strategy) Canonicalize(obj runtime.Object) { s.kind.hooks().canonicalize(obj) }

func (s strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	if s.kind.Status && !s.kind.StatusOnCreate {
		clearField(obj, statusField)
	}
	if s.kind.Generation {
		objectMeta(obj).SetGeneration(1)
	}
	s.dropGatedPodFields(obj, nil)
	s.kind.hooks().prepareForCreate(ctx, obj)
}

func (s strategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if s.kind.Status {
		copyField(obj, old, statusField)
	}
	s.dropGatedPodFields(obj, old)
	s.kind.hooks().prepareForUpdate(ctx, obj, old)
	if !s.kind.Generation {
		return
	}
	generation := objectMeta(old).GetGeneration()
	if s.kind.hooks().specChanged(obj, old) {
		generation++
	}
	objectMeta(obj).SetGeneration(generation)
}

func (s strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	return s.judge(
		func() field.ErrorList { return append(s.kind.hooks().validate(ctx, obj), s.privileged(obj)...) },
		func() field.ErrorList { return s.kind.hooks().authorize(ctx, s.deps, obj, nil) })
}

func (s strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return s.judge(
		func() field.ErrorList {
			return append(s.kind.hooks().validateUpdate(ctx, obj, old), s.privileged(obj)...)
		},
		func() field.ErrorList { return s.kind.hooks().authorize(ctx, s.deps, obj, old) })
}

// judge is what validation and authorization find, in the order that the row says.
func (s strategy) judge(validate, authorize func() field.ErrorList) field.ErrorList {
	if s.kind.hooks().authorizesFirst() {
		return append(authorize(), validate()...)
	}
	if errs := validate(); len(errs) > 0 {
		return errs
	}
	return authorize()
}

func (s strategy) WarningsOnCreate(ctx context.Context, obj runtime.Object) []string {
	return append(s.kind.hooks().warnings(ctx, obj, nil), s.kind.hooks().warningsOfOthers(s.deps, obj)...)
}

func (s strategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	return append(s.kind.hooks().warnings(ctx, obj, old), s.kind.hooks().warningsOfOthers(s.deps, obj)...)
}

func (s strategy) CheckGracefulDelete(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	return s.kind.hooks().gracefulDelete(ctx, obj, options)
}

func (s strategy) DefaultGarbageCollectionPolicy(ctx context.Context) rest.GarbageCollectionPolicy {
	switch {
	case s.kind.NoDependents:
		return rest.Unsupported
	case slices.Contains(s.kind.OrphanThrough, requestVersion(ctx)):
		return rest.OrphanDependents
	}
	return rest.DeleteDependents
}

// GetResetFields names the fields that an apply on the main endpoint never owns.
func (s strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := slices.Clone(s.kind.Resets)
	if s.kind.Status {
		fields = append(fields, "status")
	}
	if len(fields) == 0 {
		return nil
	}
	return s.resetFields(fields)
}

// resetFields is the set of fields at the dotted paths, for every version.
func (s strategy) resetFields(paths []string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, path := range paths {
		var elements fieldpath.Path
		for _, name := range strings.Split(path, ".") {
			elements = append(elements, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(elements)
	}
	fields := make(map[fieldpath.APIVersion]*fieldpath.Set, len(s.versions))
	for _, gv := range s.versions {
		fields[fieldpath.APIVersion(gv.String())] = set
	}
	return fields
}

// statusStrategy is the strategy of the status subresource, on which only status
// (and, unless the row says otherwise, metadata) can change.
type statusStrategy struct{ strategy }

func (s statusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	copyAllBut(obj, old, metaField, typeField, statusField)
	m, oldMeta := objectMeta(obj), objectMeta(old)
	m.SetGeneration(oldMeta.GetGeneration())
	if s.kind.StatusKeepsMetadata {
		metav1.ResetObjectMetaForStatus(m, oldMeta) // another name or uid is refused later
	}
	s.kind.hooks().prepareForStatusUpdate(ctx, obj, old)
}

func (s statusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return s.judge(
		func() field.ErrorList { return s.kind.hooks().validateStatusUpdate(ctx, obj, old) },
		func() field.ErrorList { return s.kind.hooks().authorizeStatus(ctx, s.deps, obj, old) })
}

func (s statusStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	return s.kind.hooks().statusWarnings(ctx, obj, old)
}

// GetResetFields names the fields that an apply on the status endpoint never owns.
func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	fields := append([]string{"spec"}, s.kind.StatusResets...)
	if s.kind.StatusKeepsMetadata {
		fields = append(fields, "metadata")
	}
	return s.resetFields(fields)
}

// The fields that every kind of k8s.io/api has under the same Go names.
const (
	typeField   = "TypeMeta"
	metaField   = "ObjectMeta"
	statusField = "Status"
)

func objectMeta(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		// Every row's type has ObjectMeta: TestTable proves it.
		return &metav1.ObjectMeta{}
	}
	return m
}

func clearField(obj runtime.Object, name string) {
	if f := reflect.ValueOf(obj).Elem().FieldByName(name); f.IsValid() {
		f.SetZero()
	}
}

func copyField(obj, old runtime.Object, name string) {
	if f := reflect.ValueOf(obj).Elem().FieldByName(name); f.IsValid() {
		f.Set(reflect.ValueOf(old).Elem().FieldByName(name))
	}
}

// copyAllBut makes every field of obj that of old, except those named.
func copyAllBut(obj, old runtime.Object, except ...string) {
	for _, name := range fieldsBut(obj, except...) {
		copyField(obj, old, name)
	}
}

// desiredStateDiffers compares all but type, metadata and status.
func desiredStateDiffers(obj, old runtime.Object) bool {
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
