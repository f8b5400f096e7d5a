package validation

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// findings are the errors found so far, in the order in which they are reported.
type findings struct{ errs field.ErrorList }

func (f *findings) add(errs ...*field.Error) { f.errs = append(f.errs, errs...) }

func (f *findings) addIf(bad bool, err *field.Error) {
	if bad {
		f.errs = append(f.errs, err)
	}
}

func (f *findings) merge(lists ...field.ErrorList) {
	for _, list := range lists {
		f.errs = append(f.errs, list...)
	}
}

// rule says what is wrong with a string, as the functions of
// k8s.io/apimachinery/pkg/util/validation do.
type rule func(string) []string

// follows checks a string by a rule.
func follows(r rule, path *field.Path, value string) field.ErrorList {
	var f findings
	for _, msg := range r(value) {
		f.add(field.Invalid(path, value, msg))
	}
	return f.errs
}

// required checks a string by a rule, and that it is there at all.
func required(r rule, path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return follows(r, path, value)
}

// joined is a rule with its messages in one, separated by sep.
func joined(r rule, sep string) rule {
	return func(s string) []string {
		if msgs := r(s); len(msgs) > 0 {
			return []string{strings.Join(msgs, sep)}
		}
		return nil
	}
}

// named is the rule of names that are not prefixes of generated ones.
func named(f apivalidation.ValidateNameFunc) rule {
	return func(s string) []string { return f(s, false) }
}

// qualified is the rule of keys such as example.com/name.
func qualified(path *field.Path, value string) field.ErrorList {
	return follows(utilvalidation.IsQualifiedName, path, value)
}

// oneOf checks an enumerated value; allowed is in the order of the message.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// requiredOneOf is oneOf for a value that has to be there.
func requiredOneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return oneOf(path, value, allowed...)
}

// optionalOneOf is oneOf for a value that may be left out.
func optionalOneOf[T ~string](path *field.Path, value *T, allowed ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return oneOf(path, *value, allowed...)
}

// unchanged checks that a field keeps its value.
func unchanged(path *field.Path, value, old any) field.ErrorList {
	if apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, unversioned(value), apivalidation.FieldImmutableErrorMsg)}
}

// gatedOff refuses what is behind a feature gate that is off, unless the old object has it as it is.
func gatedOff[T any](path *field.Path, value, old *T) field.ErrorList {
	if value == nil || apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "")}
}

// declared checks a value by a rule of the library's declarative validation.
func declared[T any](rule func(context.Context, operation.Operation, *field.Path, *T, *T) field.ErrorList, path *field.Path, value T) field.ErrorList {
	return rule(context.Background(), operation.Operation{}, path, &value, nil)
}

// nonnegative checks an integer of any size.
func nonnegative[T ~int | ~int32 | ~int64](path *field.Path, value T) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(value), path)
}

// sorted are the entries of a map by key, so that errors come in a stable order.
func sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// scope says whether a kind's objects live in namespaces.
type scope bool

const (
	clusterScoped scope = false
	namespaced    scope = true
)

var metadataPath = field.NewPath("metadata")

// created checks the metadata of a new object.
func created(meta *metav1.ObjectMeta, s scope, name apivalidation.ValidateNameFunc) findings {
	f := findings{apivalidation.ValidateObjectMeta(meta, bool(s), name, metadataPath)}
	f.merge(knownFinalizers(meta))
	return f
}

// updated checks the metadata of an object that replaces another.
func updated(meta, old *metav1.ObjectMeta) findings {
	f := findings{apivalidation.ValidateObjectMetaUpdate(meta, old, metadataPath)}
	f.merge(knownFinalizers(meta))
	return f
}

func knownFinalizers(meta *metav1.ObjectMeta) field.ErrorList {
	var f findings
	for i, name := range meta.Finalizers {
		f.merge(knownFinalizer(metadataPath.Child("finalizers").Index(i), name))
	}
	return f.errs
}

// knownFinalizer checks that a finalizer is one of the three without a domain, or has
// a domain.
func knownFinalizer(path *field.Path, name string) field.ErrorList {
	switch name {
	case string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents:
		return nil
	}
	if strings.Contains(name, "/") {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")}
}

// pathSegmentName is the rule for names that need only fit into a URL's path.
func pathSegmentName(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}
