package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/featuregate"
)

// Hooks are the functions by which a kind adds to the Strategy that all kinds share. HooksOf implements Hooks.
type Hooks interface {
	prepareForCreate(ctx context.Context, obj runtime.Object)
	prepareForUpdate(ctx context.Context, obj, old runtime.Object)
	prepareForStatusUpdate(ctx context.Context, obj, old runtime.Object)
	canonicalize(obj runtime.Object)
	validate(ctx context.Context, obj runtime.Object) field.ErrorList
	validateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	validateStatusUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	declarativeOptions(gates featuregate.FeatureGate, obj, old runtime.Object) map[string]bool
	authorize(ctx context.Context, deps Dependencies, obj, old runtime.Object) field.ErrorList
	authorizeStatus(ctx context.Context, deps Dependencies, obj, old runtime.Object) field.ErrorList
	authorizesFirst() bool
	warnings(ctx context.Context, obj, old runtime.Object) []string
	warningsOfOthers(deps Dependencies, obj runtime.Object) []string
	statusWarnings(ctx context.Context, obj, old runtime.Object) []string
	specChanged(obj, old runtime.Object) bool
	gracefulDelete(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool
}

// HooksOf are the Hooks of the kind T. Each function is optional. Defaults aren't hooks, because each version has
// defaults of its own: see Kind.Defaults. Most methods implement Hooks.
type HooksOf[T runtime.Object] struct {
	// PrepareForCreate changes a new object before validation. The Strategy has already cleared the status, unless
	// the kind has StatusOnCreate. If the kind has Generation, the generation is already 1.
	PrepareForCreate func(context.Context, T)
	// PrepareForUpdate changes an updated object before validation. The Strategy has already restored the stored
	// status. After PrepareForUpdate, the Strategy computes the generation.
	PrepareForUpdate func(ctx context.Context, obj, old T)
	// PrepareForStatusUpdate changes an object before the validation of an update of the status subresource.
	PrepareForStatusUpdate func(ctx context.Context, obj, old T)
	// Canonicalize changes an object after validation. In contrast to PrepareForCreate, it gets an object with a
	// name, even if the server has generated the name.
	Canonicalize func(T)

	// Validate checks a new object.
	Validate func(T) field.ErrorList
	// ValidateUpdate checks an updated object. Validate doesn't run for an update, so ValidateUpdate must also make the
	// checks that hold for new and for updated objects.
	ValidateUpdate func(obj, old T) field.ErrorList
	// ValidateStatusUpdate checks an update of the status subresource.
	ValidateStatusUpdate func(obj, old T) field.ErrorList
	// Through replaces Validate and ValidateUpdate for requests through certain group versions. If the Update of an entry
	// is nil, ValidateUpdate still checks updates through the group version.
	Through map[schema.GroupVersion]Validation[T]

	// DeclarativeOptions returns the states of the options that the markers in the Go types of the kind name, except the
	// feature gates of Kind.Gated. The argument "old" is nil on create.
	DeclarativeOptions func(gates featuregate.FeatureGate, obj, old T) map[string]bool

	// Authorize checks a valid object against other objects, or against the permissions of the request's user. The
	// argument "old" is nil on create.
	Authorize func(ctx context.Context, deps Dependencies, obj, old T) field.ErrorList
	// AuthorizeStatus checks a valid update of the status subresource against other objects, or against the
	// permissions of the request's user.
	AuthorizeStatus func(ctx context.Context, deps Dependencies, obj, old T) field.ErrorList
	// AuthorizeFirst makes Authorize and AuthorizeStatus run before validation, and for invalid objects too. The
	// client then gets the errors of authorization together with the errors of validation.
	AuthorizeFirst bool

	// Warnings returns warnings for the response. The argument "old" is nil on create.
	Warnings func(ctx context.Context, obj, old T) []string
	// WarningsOfOthers returns warnings about references of the object, for example to a Service that doesn't exist, or to
	// a resource that the server doesn't serve.
	WarningsOfOthers func(deps Dependencies, obj T) []string
	// StatusWarnings returns warnings for the response to an update of the status subresource.
	StatusWarnings func(ctx context.Context, obj, old T) []string

	// SpecChanged reports whether an update increases the generation. By default, it compares everything except
	// metadata and status.
	SpecChanged func(obj, old T) bool

	// GracefulDelete reports whether a deletion has a grace period. It sets the period in the options.
	GracefulDelete func(ctx context.Context, obj T, options *metav1.DeleteOptions) bool
}

// Validation checks objects of kind T on create and on update.
type Validation[T runtime.Object] struct {
	Create func(T) field.ErrorList
	Update func(obj, old T) field.ErrorList
}

var _ Hooks = HooksOf[runtime.Object]{}

func (h HooksOf[T]) prepareForCreate(ctx context.Context, obj runtime.Object) {
	if h.PrepareForCreate != nil {
		h.PrepareForCreate(ctx, obj.(T))
	}
}

func (h HooksOf[T]) prepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	if h.PrepareForUpdate != nil {
		h.PrepareForUpdate(ctx, obj.(T), old.(T))
	}
}

func (h HooksOf[T]) prepareForStatusUpdate(ctx context.Context, obj, old runtime.Object) {
	if h.PrepareForStatusUpdate != nil {
		h.PrepareForStatusUpdate(ctx, obj.(T), old.(T))
	}
}

func (h HooksOf[T]) canonicalize(obj runtime.Object) {
	if h.Canonicalize != nil {
		h.Canonicalize(obj.(T))
	}
}

// validation returns the validation for the group version of the request. ctx is the context of the request.
func (h HooksOf[T]) validation(ctx context.Context) Validation[T] {
	v, ok := h.Through[RequestVersion(ctx)]
	if !ok {
		v.Create = h.Validate
	}
	if v.Update == nil {
		v.Update = h.ValidateUpdate
	}
	return v
}

func (h HooksOf[T]) validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	check := h.validation(ctx).Create
	if check == nil {
		return nil
	}
	return check(obj.(T))
}

func (h HooksOf[T]) validateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	check := h.validation(ctx).Update
	if check == nil {
		return nil
	}
	return check(obj.(T), old.(T))
}

func (h HooksOf[T]) validateStatusUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if h.ValidateStatusUpdate == nil {
		return nil
	}
	return h.ValidateStatusUpdate(obj.(T), old.(T))
}

func (h HooksOf[T]) declarativeOptions(gates featuregate.FeatureGate, obj, old runtime.Object) map[string]bool {
	if h.DeclarativeOptions == nil {
		return nil
	}
	o, _ := old.(T)
	return h.DeclarativeOptions(gates, obj.(T), o)
}

func (h HooksOf[T]) authorize(ctx context.Context, deps Dependencies, obj, old runtime.Object) field.ErrorList {
	if h.Authorize == nil {
		return nil
	}
	o, _ := old.(T)
	return h.Authorize(ctx, deps, obj.(T), o)
}

func (h HooksOf[T]) authorizeStatus(ctx context.Context, deps Dependencies, obj, old runtime.Object) field.ErrorList {
	if h.AuthorizeStatus == nil {
		return nil
	}
	return h.AuthorizeStatus(ctx, deps, obj.(T), old.(T))
}

func (h HooksOf[T]) authorizesFirst() bool { return h.AuthorizeFirst }

func (h HooksOf[T]) warnings(ctx context.Context, obj, old runtime.Object) []string {
	if h.Warnings == nil {
		return nil
	}
	o, _ := old.(T)
	return h.Warnings(ctx, obj.(T), o)
}

func (h HooksOf[T]) warningsOfOthers(deps Dependencies, obj runtime.Object) []string {
	if h.WarningsOfOthers == nil {
		return nil
	}
	return h.WarningsOfOthers(deps, obj.(T))
}

func (h HooksOf[T]) statusWarnings(ctx context.Context, obj, old runtime.Object) []string {
	if h.StatusWarnings == nil {
		return nil
	}
	return h.StatusWarnings(ctx, obj.(T), old.(T))
}

func (h HooksOf[T]) specChanged(obj, old runtime.Object) bool {
	if h.SpecChanged == nil {
		return DesiredStateDiffers(obj, old)
	}
	return h.SpecChanged(obj.(T), old.(T))
}

func (h HooksOf[T]) gracefulDelete(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	return h.GracefulDelete != nil && h.GracefulDelete(ctx, obj.(T), options)
}

// RequestVersion returns the group version in the path of the request. ctx is the context of the request.
func RequestVersion(ctx context.Context) schema.GroupVersion {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok {
		return schema.GroupVersion{}
	}
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
}
