package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Hooks are what a kind adds to the one strategy. HooksOf implements it.
type Hooks interface {
	prepareForCreate(ctx context.Context, obj runtime.Object)
	prepareForUpdate(ctx context.Context, obj, old runtime.Object)
	prepareForStatusUpdate(ctx context.Context, obj, old runtime.Object)
	canonicalize(obj runtime.Object)
	validate(ctx context.Context, obj runtime.Object) field.ErrorList
	validateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	validateStatusUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
	authorize(ctx context.Context, deps Dependencies, obj, old runtime.Object) field.ErrorList
	authorizeStatus(ctx context.Context, deps Dependencies, obj, old runtime.Object) field.ErrorList
	authorizesFirst() bool
	warnings(ctx context.Context, obj, old runtime.Object) []string
	warningsOfOthers(deps Dependencies, obj runtime.Object) []string
	statusWarnings(ctx context.Context, obj, old runtime.Object) []string
	specChanged(obj, old runtime.Object) bool
	gracefulDelete(ctx context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool
}

// HooksOf are the hooks of kind T, each of them optional. Defaults are not among them:
// they belong to each version, and the row has them. The methods are those of Hooks, one for each function.
type HooksOf[T runtime.Object] struct {
	// PrepareForCreate runs before validation, after the shared preparation
	// (an empty status, a generation of 1).
	PrepareForCreate func(context.Context, T)
	// PrepareForUpdate runs before validation, after the shared preparation (the
	// old status) and before the generation is counted.
	PrepareForUpdate func(ctx context.Context, obj, old T)
	// PrepareForStatusUpdate is the same for the status subresource.
	PrepareForStatusUpdate func(ctx context.Context, obj, old T)
	// Canonicalize runs after validation, when a generated name is known.
	Canonicalize func(T)

	Validate             func(T) field.ErrorList
	ValidateUpdate       func(obj, old T) field.ErrorList
	ValidateStatusUpdate func(obj, old T) field.ErrorList
	// Through has the validation of requests through group versions that differ in it.
	Through map[schema.GroupVersion]Validation[T]

	// Authorize checks a valid object against others, or against the request's user; old
	// is nil on create.
	Authorize func(ctx context.Context, deps Dependencies, obj, old T) field.ErrorList
	// AuthorizeStatus is the same for the status subresource.
	AuthorizeStatus func(ctx context.Context, deps Dependencies, obj, old T) field.ErrorList
	// AuthorizeFirst makes both run before validation, whose findings follow theirs. They
	// see objects that may be invalid.
	AuthorizeFirst bool

	// Warnings are returned to the client with the answer; old is nil on create.
	Warnings func(ctx context.Context, obj, old T) []string
	// WarningsOfOthers are warnings about what the object names and isn't there.
	WarningsOfOthers func(deps Dependencies, obj T) []string
	// StatusWarnings are the same for the status subresource.
	StatusWarnings func(ctx context.Context, obj, old T) []string

	// SpecChanged says whether an update is one that generation counts. Its default
	// compares everything but metadata and status.
	SpecChanged func(obj, old T) bool

	// GracefulDelete says whether a deletion waits for a grace period, and sets it in
	// the options.
	GracefulDelete func(ctx context.Context, obj T, options *metav1.DeleteOptions) bool
}

// Validation is how objects of kind T are checked on create and on update.
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

// validation is that of requests through the group version of ctx.
func (h HooksOf[T]) validation(ctx context.Context) Validation[T] {
	if v, ok := h.Through[RequestVersion(ctx)]; ok {
		return v
	}
	return Validation[T]{Create: h.Validate, Update: h.ValidateUpdate}
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

// RequestVersion is the group version that a request was made through.
func RequestVersion(ctx context.Context) schema.GroupVersion {
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok {
		return schema.GroupVersion{}
	}
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
}
