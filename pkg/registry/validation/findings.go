package validation

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Findings collects errors, in the order in which they are reported.
type Findings struct{ Errs field.ErrorList }

// Add adds errors.
func (f *Findings) Add(errs ...*field.Error) { f.Errs = append(f.Errs, errs...) }

// AddIf adds an error, if "bad" is true.
func (f *Findings) AddIf(bad bool, err *field.Error) {
	if bad {
		f.Errs = append(f.Errs, err)
	}
}

// Merge adds lists of errors.
func (f *Findings) Merge(lists ...field.ErrorList) {
	for _, list := range lists {
		f.Errs = append(f.Errs, list...)
	}
}

// Rule returns messages about an invalid string. The functions of k8s.io/apimachinery/pkg/util/validation are such
// rules.
type Rule func(string) []string

// Follows checks a string by a rule, and returns an error for each message of the rule.
func Follows(r Rule, path *field.Path, value string) field.ErrorList {
	var f Findings
	for _, msg := range r(value) {
		f.Add(field.Invalid(path, value, msg))
	}
	return f.Errs
}

// Required checks that a string isn't empty, and that it follows a rule.
func Required(r Rule, path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return Follows(r, path, value)
}

// Optional checks that a string is empty, or follows a rule.
func Optional(r Rule, path *field.Path, value string) field.ErrorList {
	if value == "" {
		return nil
	}
	return Follows(r, path, value)
}

// Joined returns a rule that joins the messages of another rule into one message. sep separates the joined messages.
func Joined(r Rule, sep string) Rule {
	return func(s string) []string {
		if msgs := r(s); len(msgs) > 0 {
			return []string{strings.Join(msgs, sep)}
		}
		return nil
	}
}

// Named returns the Rule for complete names. The function f checks complete names or, if its argument "prefix" is true,
// prefixes of generated names.
func Named(f apivalidation.ValidateNameFunc) Rule {
	return func(s string) []string { return f(s, false) }
}

// Qualified checks a key, such as example.com/name.
func Qualified(path *field.Path, value string) field.ErrorList {
	return Follows(utilvalidation.IsQualifiedName, path, value)
}

// OneOf checks that a value is one of the allowed values. The message lists the allowed values in their order.
func OneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// RequiredOneOf checks that a value isn't empty, and is one of the allowed values. The message lists the allowed values
// in their order.
func RequiredOneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return OneOf(path, value, allowed...)
}

// OptionalOneOf checks that a value is nil, or points to one of the allowed values.
func OptionalOneOf[T ~string](path *field.Path, value *T, allowed ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return OneOf(path, *value, allowed...)
}

// Unchanged checks that a field keeps its value.
func Unchanged(path *field.Path, value, old any) field.ErrorList {
	if apiequality.Semantic.DeepEqual(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, Unversioned(value), apivalidation.FieldImmutableErrorMsg)}
}

// Nonnegative checks that an integer isn't negative.
func Nonnegative[T ~int | ~int32 | ~int64](path *field.Path, value T) field.ErrorList {
	return apivalidation.ValidateNonnegativeField(int64(value), path)
}

// Sorted yields the entries of a map, sorted by key, so that errors always have the same order.
func Sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// Few checks that a list of n items has at most the number "most" of items.
func Few(path *field.Path, n, most int) field.ErrorList {
	if n <= most {
		return nil
	}
	return field.ErrorList{field.TooMany(path, n, most)}
}

// Within returns the list, or nil if the list has more items than the argument "most". kube-apiserver doesn't check
// the items of a list that is too long.
func Within[T any](list []T, most int) []T {
	if len(list) > most {
		return nil
	}
	return list
}

// Present checks that fields are set. The arguments are the name of a field, its value, the next name, and so on.
func Present(path *field.Path, namesAndValues ...string) field.ErrorList {
	var f Findings
	for i := 0; i < len(namesAndValues); i += 2 {
		f.AddIf(namesAndValues[i+1] == "", field.Required(path.Child(namesAndValues[i]), ""))
	}
	return f.Errs
}
