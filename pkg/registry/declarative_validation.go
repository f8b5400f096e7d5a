package registry

import (
	"context"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// DeclarativeValidationConfig implements rest.DeclarativeValidationStrategy.
func (s Strategy) DeclarativeValidationConfig(_ context.Context, obj, old runtime.Object) rest.DeclarativeValidationConfig {
	gates, options := s.deps.gates(), map[string]bool{}
	for _, feature := range s.Kind.features() {
		options[string(feature)] = gates.Enabled(feature)
	}
	maps.Copy(options, s.Kind.hooks().declarativeOptions(gates, obj, old))
	return rest.DeclarativeValidationConfig{Options: options}
}

// ValidateDeclaratively implements rest.DeclarativeValidationStrategy. To the errors of the kind's own validation, it adds
// those of the validation that is generated from the markers in the Go types (KEP-5073). It returns each of the kind's
// errors once: on update, the errors in metadata come both from k8s.io/apiserver and from the kind.
//
// The kind's own validation leaves out most of what the markers declare. Therefore, the feature gate
// DeclarativeValidationBeta has no effect: if it is off, kube-apiserver checks the same rules by other code. The generated
// validation of a field that changed and can't change checks nothing else in it. For the rules in such a field, the kind
// has errors that are marked as covered by the generated ones.
func (s Strategy) ValidateDeclaratively(ctx context.Context, obj, old runtime.Object, errs field.ErrorList,
	_ operation.Type, config rest.DeclarativeValidationConfig) field.ErrorList {
	if gv := RequestVersion(ctx); s.validatesIn(gv, obj) {
		var err error
		if obj, err = s.scheme.ConvertToVersion(obj, gv); err == nil && old != nil {
			old, err = s.scheme.ConvertToVersion(old, gv)
		}
		if err != nil {
			return append(errs, field.InternalError(nil, err))
		}
	}
	var declared field.ErrorList
	if old == nil {
		declared = s.scheme.Validate(ctx, config.Options, obj)
	} else {
		declared = s.scheme.ValidateUpdate(ctx, config.Options, obj, old)
	}
	const beta = true
	declared = validate.FilterEnforcedDeclarativeErrors(ctx, declared, beta)
	return append(validate.FilterCoveredHandwrittenErrors(ctx, errs, declared, beta), declared...)
}

// validatesIn reports whether a group version has a Go type of its own for an object, and a generated validation for it.
// Then errors name the fields of this version.
func (s Strategy) validatesIn(gv schema.GroupVersion, obj runtime.Object) bool {
	versioned, err := s.scheme.New(gv.WithKind(s.Kind.KindName()))
	return err == nil && reflect.TypeOf(versioned) != reflect.TypeOf(obj) && s.scheme.HasValidationFunc(versioned)
}
