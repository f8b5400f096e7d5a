package extension

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// Handler is a function that handles calls of a hook. The function Of makes a Handler.
type Handler struct {
	hook          catalog.Hook
	name          string
	handle        func(ctx context.Context, request, response any)
	timeout       time.Duration // 0 stands for the default
	failurePolicy hooksv1.FailurePolicy
}

// HandlerOption sets a field of the handler in the answer to Discovery.
type HandlerOption func(*Handler)

// Timeout sets the time for which callers wait for the handler's answer. It is a whole number of seconds, from 1 to
// 30. The default is 10 seconds.
func Timeout(timeout time.Duration) HandlerOption {
	return func(h *Handler) { h.timeout = timeout }
}

// FailurePolicy sets whether a failed call is an error for the caller. The default is Fail, which makes it an error.
func FailurePolicy(policy hooksv1.FailurePolicy) HandlerOption {
	return func(h *Handler) { h.failurePolicy = policy }
}

// Of makes a handler of a hook. The argument "name" is a DNS label, or "" for a singleton hook, such as Discovery.
// The argument "handle" is the function, which must set the status of the response. Its context ends when the caller
// no longer waits for the response.
func Of[Request hooksv1.RequestObject, Response hooksv1.ResponseObject](
	hook func(Request, Response), name string, handle func(context.Context, Request, Response), options ...HandlerOption,
) Handler {
	h := Handler{hook: hook, name: name}
	if handle != nil {
		h.handle = func(ctx context.Context, request, response any) {
			handle(ctx, request.(Request), response.(Response))
		}
	}
	for _, option := range options {
		option(&h)
	}
	return h
}

// check returns an error for each mistake in a handler.
func (h Handler) check(d *catalog.Descriptor) error {
	var errs []error
	switch {
	case d.Singleton && h.name != "":
		errs = append(errs, errors.New("the handler must have no name, because the hook has one handler in each extension"))
	case !d.Singleton:
		for _, message := range validation.IsDNS1123Label(h.name) {
			errs = append(errs, fmt.Errorf("the name must be a DNS label: %s", message))
		}
	}
	if h.handle == nil {
		errs = append(errs, errors.New("the function must not be nil"))
	}
	seconds := time.Duration(hooksv1.MinTimeoutSeconds) * time.Second
	longest := time.Duration(hooksv1.MaxTimeoutSeconds) * time.Second
	if h.timeout != 0 && (h.timeout < seconds || h.timeout > longest || h.timeout%time.Second != 0) {
		errs = append(errs, fmt.Errorf("timeout %s must be a number of whole seconds between %s and %s", h.timeout, seconds, longest))
	}
	switch h.failurePolicy {
	case "", hooksv1.FailurePolicyFail, hooksv1.FailurePolicyIgnore:
	default:
		errs = append(errs, fmt.Errorf("failure policy %q must be Fail or Ignore", h.failurePolicy))
	}
	return errors.Join(errs...)
}

// discovered returns the handler as the answer to Discovery lists it.
func (h Handler) discovered(d *catalog.Descriptor) hooksv1.ExtensionHandler {
	handler := hooksv1.ExtensionHandler{Name: h.name, RequestHook: hooksv1.ReferenceTo(d.GroupVersionHook)}
	if h.timeout != 0 {
		seconds := int32(h.timeout / time.Second)
		handler.TimeoutSeconds = &seconds
	}
	if h.failurePolicy != "" {
		handler.FailurePolicy = &h.failurePolicy
	}
	return handler
}
