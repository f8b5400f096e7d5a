package extension

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// MaxRequestBytes bounds the body of a request: 20 MiB, as in Cluster API.
const MaxRequestBytes = 20 << 20

// warningCode is the code of a Warning header for a warning that isn't temporary (RFC 7234, section 5.5).
const warningCode = 299

// Options have the dependencies and settings of an extension.
type Options struct {
	// Catalog has the hooks of all handlers.
	Catalog *catalog.Catalog
	// Observe is called after each answer of a handler. It may be nil. It must be safe for concurrent use.
	Observe func(Served)
}

// Served describes a request that was answered.
type Served struct {
	// Path is the URL path of the handler.
	Path string
	// Hook is the called version of the hook. Handler is the name of the handler.
	Hook    catalog.GroupVersionHook
	Handler string
	// Code is the HTTP status.
	Code int
	// Status is the status in the response. It is "" if there is no response.
	Status hooksv1.ResponseStatus
	// Duration is the time from the request to the answer.
	Duration time.Duration
}

// Extension is an http.Handler that answers Discovery and the hooks of its handlers.
type Extension struct {
	options  Options
	handlers map[string]*served // the handlers, by URL path
}

// served is a handler with the data for requests to its path.
type served struct {
	Handler
	descriptor *catalog.Descriptor
	path       string
	// direct is the response of the handler of Discovery, which has no function. It is nil for all other handlers.
	direct hooksv1.ResponseObject
	// warnings are Warning headers that each answer gets. The headers warn callers of deprecated hooks.
	warnings []string
}

// New returns an extension with the handlers. An error about handlers names each invalid handler, and each handler
// whose name or path another handler has.
func New(options Options, handlers ...Handler) (*Extension, error) {
	if options.Catalog == nil {
		return nil, errors.New("an extension: Options.Catalog must be set, to the catalog with the hooks of the extension")
	}
	discovery, err := options.Catalog.Describe(hooksv1.Discovery)
	if err != nil {
		return nil, err
	}
	answer := &hooksv1.DiscoveryResponse{Handlers: []hooksv1.ExtensionHandler{}}
	answer.Status = hooksv1.ResponseStatusSuccess
	e := &Extension{options: options, handlers: map[string]*served{}}
	discovered := &served{descriptor: discovery, path: discovery.Path(""), direct: answer}
	e.handlers[discovered.path] = discovered
	names := map[string]catalog.GroupVersionHook{}
	var errs []error
	for _, h := range handlers {
		d, err := options.Catalog.Describe(h.hook)
		if err == nil {
			err = h.check(d)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("handler %q: %w", h.name, err))
			continue
		}
		path := d.Path(h.name)
		if e.handlers[path] != nil {
			remedy := "the handlers must have different names"
			if d.Singleton {
				remedy = "leave this handler out, because the hook has one handler in each extension"
			}
			errs = append(errs, fmt.Errorf("handler %q for hook %s: another handler has the path %s: %s", h.name, d, path, remedy))
			continue
		}
		if other, taken := names[h.name]; taken {
			errs = append(errs, fmt.Errorf("handler %q for hook %s: the handler for hook %s has the same name: the handlers must have different names", h.name, d, other))
			continue
		}
		warnings := warningsOf(d)
		e.handlers[path] = &served{Handler: h, descriptor: d, path: path, warnings: warnings}
		discovered.warnings = append(discovered.warnings, warnings...)
		if !d.Singleton {
			names[h.name] = d.GroupVersionHook
			answer.Handlers = append(answer.Handlers, h.discovered(d))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return e, nil
}

// warningsOf returns a Warning header if a hook is deprecated.
func warningsOf(d *catalog.Descriptor) []string {
	if !d.Deprecated {
		return nil
	}
	header, err := utilnet.NewWarningHeader(warningCode, "-", fmt.Sprintf("hook %s is deprecated", d))
	if err != nil {
		return nil // the error is impossible: the name of a hook is valid in a header
	}
	return []string{header}
}

// ServeHTTP implements http.Handler.
func (e *Extension) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := e.handlers[req.URL.Path]
	if h == nil {
		http.Error(w, fmt.Sprintf("the extension has no handler at %s", req.URL.Path), http.StatusNotFound)
		return
	}
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, fmt.Sprintf("hooks are called by POST, not by %s", req.Method), http.StatusMethodNotAllowed)
		return
	}
	start := time.Now()
	code, response := h.answer(w, req)
	for _, warning := range h.warnings {
		w.Header().Add("Warning", warning)
	}
	code = write(w, code, response)
	if e.options.Observe != nil {
		done := Served{Path: h.path, Hook: h.descriptor.GroupVersionHook, Handler: h.name, Code: code, Duration: time.Since(start)}
		if response != nil {
			done.Status = response.GetStatus()
		}
		e.options.Observe(done)
	}
}

// write writes the answer, and returns its HTTP status. If the code isn't 200, the answer has no response.
func write(w http.ResponseWriter, code int, response hooksv1.ResponseObject) int {
	if code != http.StatusOK {
		http.Error(w, "the handler of the hook has panicked or has set no valid status: the log of the extension has the reason", code)
		return code
	}
	body, err := json.Marshal(response)
	if err != nil {
		klog.ErrorS(err, "encoding the response of a hook", "type", fmt.Sprintf("%T", response))
		http.Error(w, "the response can't be encoded", http.StatusInternalServerError)
		return http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the caller may have closed the connection
	return code
}

// answer returns the HTTP status and, if that is 200, the response. If the request can't be read, the response has the
// status Failure, as in Cluster API. The failure policy must not hide this error, because the caller has caused it. If
// the function panics, or doesn't set a valid status, the HTTP status is 500, and the failure policy applies.
func (h *served) answer(w http.ResponseWriter, req *http.Request) (code int, response hooksv1.ResponseObject) {
	request := h.descriptor.NewRequest()
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, MaxRequestBytes))
	if err != nil {
		return h.failure("the request can't be read: %v", err)
	}
	if err := json.Unmarshal(body, request); err != nil {
		return h.failure("the request must be a %s: %v", h.descriptor.Request.Kind, err)
	}
	if got := request.GetObjectKind().GroupVersionKind(); !got.Empty() && got != h.descriptor.Request {
		return h.failure("the request is a %s, not a %s", got, h.descriptor.Request)
	}
	if h.direct != nil {
		return http.StatusOK, h.direct
	}
	ctx, cancel := limited(req)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			klog.FromContext(ctx).Error(fmt.Errorf("panic: %v", fault), "the handler of a hook panics",
				"hook", h.descriptor.String(), "handler", h.name, "stack", string(debug.Stack()))
			code, response = http.StatusInternalServerError, nil
		}
	}()
	response = h.descriptor.NewResponse().(hooksv1.ResponseObject)
	h.handle(ctx, request, response)
	switch response.GetStatus() {
	case hooksv1.ResponseStatusSuccess, hooksv1.ResponseStatusFailure:
		return http.StatusOK, response
	}
	klog.FromContext(ctx).Error(fmt.Errorf("status %q is neither Success nor Failure", response.GetStatus()),
		"the handler of a hook sets no valid status", "hook", h.descriptor.String(), "handler", h.name)
	return http.StatusInternalServerError, nil
}

func (h *served) failure(format string, args ...any) (int, hooksv1.ResponseObject) {
	response := h.descriptor.NewResponse().(hooksv1.ResponseObject)
	response.SetStatus(hooksv1.ResponseStatusFailure)
	response.SetMessage(fmt.Sprintf(format, args...))
	return http.StatusOK, response
}

// limited returns a context that ends with the request. The query parameter timeout of a request is the time for
// which the caller waits. The context ends after this time at the latest.
func limited(req *http.Request) (context.Context, context.CancelFunc) {
	timeout, err := time.ParseDuration(req.URL.Query().Get("timeout"))
	if err != nil || timeout <= 0 {
		return context.WithCancel(req.Context())
	}
	return context.WithTimeout(req.Context(), timeout)
}
