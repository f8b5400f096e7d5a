package hookclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

// MaxBodyBytes bounds the bodies of requests and responses. It is 20 MiB, as in Cluster API.
const MaxBodyBytes = 20 << 20

// maxShownBytes bounds the part of a body that is shown in an error.
const maxShownBytes = 512

// Outcome describes a finished call of one handler.
type Outcome struct {
	// Handler is HANDLER.CONFIG, the name of the handler and of its ExtensionConfig. It is "" for Discovery.
	Handler string
	// Hook is the version of the hook that the caller uses. Implemented is the version that the handler implements.
	Hook, Implemented catalog.GroupVersionHook
	// Host is the host of the request's URL, with its port if there is one.
	Host string
	// Code is the HTTP status. It is 0 if there was no response.
	Code int
	// Duration is the time from the request to the end of its response.
	Duration time.Duration
	// Warnings are the texts of the response's Warning headers.
	Warnings []string
	// Response is the response in the caller's version. It must not be changed.
	Response hooksv1.ResponseObject
	// Err is the error of the call. Ignored is the error that the failure policy Ignore has hidden.
	Err, Ignored error
	// Cached is true if the response is from a cache, and no request was sent.
	Cached bool
}

// CallError is an error of the call itself: the handler gave no answer, or its answer isn't a response of the hook.
type CallError struct{ Err error }

// Error implements error.
func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *CallError) Unwrap() error { return e.Err }

func callErrorf(format string, args ...any) error {
	return &CallError{fmt.Errorf(format, args...)}
}

// FailureError is the error for a response whose status isn't Success.
type FailureError struct {
	Status  hooksv1.ResponseStatus
	Message string
}

// Error implements error.
func (e *FailureError) Error() string {
	if e.Status == hooksv1.ResponseStatusFailure {
		return fmt.Sprintf("answered Failure: %s", e.Message)
	}
	return fmt.Sprintf("answered the status %q, which is neither Success nor Failure: %s", e.Status, e.Message)
}

// exchange is a request to a handler, with its response.
type exchange struct {
	client              *Client
	caller, implemented *catalog.Descriptor
	clientConfig        runtimev1.ClientConfig
	handler             string // the name in the extension; "" for a singleton hook
	timeout             time.Duration
	cache               *ResponseCache
	configVersion       string
	check               func(body []byte) error // nil, or a further check of the response's body
}

// make sends the request in the version that the handler implements, unless the cache has a response to it. It fills
// the response in the caller's version.
func (x *exchange) make(ctx context.Context, request runtime.Object, response hooksv1.ResponseObject, outcome *Outcome) error {
	request.GetObjectKind().SetGroupVersionKind(x.implemented.Request)
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encoding the request: %w", err)
	}
	if len(body) > MaxBodyBytes {
		return fmt.Errorf("the request has %d bytes, and must have at most %d", len(body), MaxBodyBytes)
	}
	if x.cache == nil {
		return x.send(ctx, body, response, outcome)
	}
	key := cacheKey(outcome.Handler, x.configVersion, x.caller, body)
	if cached, ok := x.cache.get(key); ok {
		assign(response, cached)
		outcome.Cached = true
		return nil
	}
	if err := x.send(ctx, body, response, outcome); err != nil {
		return err
	}
	x.cache.add(key, response)
	return nil
}

func (x *exchange) send(ctx context.Context, body []byte, response hooksv1.ResponseObject, outcome *Outcome) error {
	connection, err := x.client.options.Connector.Connect(x.clientConfig)
	if err != nil {
		return err
	}
	target := *connection.URL
	target.Path = path.Join("/", target.Path, x.implemented.Path(x.handler))
	target.RawQuery = url.Values{"timeout": {x.timeout.String()}}.Encode()
	outcome.Host = target.Host

	limited, cancel := context.WithTimeoutCause(ctx, x.timeout, fmt.Errorf("no answer within %s", x.timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("request to %s: %w", &target, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")

	start := time.Now()
	answer, err := x.receive(connection.HTTP, req, outcome)
	outcome.Duration = time.Since(start)
	// After the timeout, the client refuses even a body that seems complete: the extension may have cut it short
	// when the time was over.
	if limited.Err() != nil {
		err = context.Cause(limited)
	}
	switch {
	case ctx.Err() != nil: // the caller has given up, so the failure policy doesn't matter
		return fmt.Errorf("calling %s: the caller has given up: %w", target.Redacted(), context.Cause(ctx))
	case err != nil:
		return callErrorf("calling %s: %w", target.Redacted(), err)
	}
	return x.accept(answer, response)
}

// receive returns the body of a response. It returns an error if the HTTP status isn't 200, or if the body is too
// large.
func (x *exchange) receive(client *http.Client, req *http.Request, outcome *Outcome) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // drop the wrapper, because the method send adds the URL
			err = wrapped.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	outcome.Code = resp.StatusCode
	if warnings, errs := utilnet.ParseWarningHeaders(resp.Header.Values("Warning")); len(errs) == 0 {
		for _, w := range warnings {
			outcome.Warnings = append(outcome.Warnings, w.Text)
		}
	}
	if resp.StatusCode != http.StatusOK {
		shown, _ := io.ReadAll(io.LimitReader(resp.Body, maxShownBytes))
		return nil, fmt.Errorf("the answer has HTTP status %d, and must have 200: %q", resp.StatusCode, shown)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxBodyBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the response: %w", err)
	case len(data) > MaxBodyBytes:
		return nil, fmt.Errorf("the response must have at most %d bytes, and has more", MaxBodyBytes)
	}
	return data, nil
}

// accept converts the handler's response to the caller's version, and stores it in the caller's response.
func (x *exchange) accept(data []byte, response hooksv1.ResponseObject) error {
	local := x.implemented.NewResponse().(hooksv1.ResponseObject)
	if err := json.Unmarshal(data, local); err != nil {
		return callErrorf("the response must be a %s: %w: %q", x.implemented.Response.Kind, err, data[:min(len(data), maxShownBytes)])
	}
	if got := local.GetObjectKind().GroupVersionKind(); !got.Empty() && got != x.implemented.Response {
		return callErrorf("the response is a %s, not a %s", got, x.implemented.Response)
	}
	if x.check != nil {
		if err := x.check(data); err != nil {
			return err
		}
	}
	if retry, is := local.(hooksv1.RetryResponseObject); is && retry.GetRetryAfterSeconds() < 0 {
		return callErrorf("retryAfterSeconds is %d, and must not be negative", retry.GetRetryAfterSeconds())
	}
	if err := x.client.options.Catalog.ConvertResponse(local, response, x.implemented, x.caller); err != nil {
		return err
	}
	if status := response.GetStatus(); status != hooksv1.ResponseStatusSuccess {
		return &FailureError{Status: status, Message: response.GetMessage()}
	}
	return nil
}

// assign copies *from to *to. Both arguments are pointers to values of the same type.
func assign(to, from any) { reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem()) }

// call calls a handler, applies its failure policy, and passes the outcome to the observers.
func (c *Client) call(ctx context.Context, d *catalog.Descriptor, r *hookregistry.Registration, request hooksv1.RequestObject, response hooksv1.ResponseObject, options []CallOption) error {
	var o callOptions
	for _, option := range options {
		option(&o)
	}
	implemented := c.options.Catalog.Hook(r.Hook)
	if implemented == nil {
		return fmt.Errorf("handler %q implements hook %s: the catalog must have this hook, and lacks the hook", r.Name, r.Hook)
	}
	local, err := c.localRequest(d, implemented, r, request)
	if err != nil {
		return fmt.Errorf("handler %q: %w", r.Name, err)
	}
	assign(response, d.NewResponse()) // drop values that the caller has left in the response
	outcome := Outcome{Handler: r.Name, Hook: d.GroupVersionHook, Implemented: r.Hook}
	answer := exchange{
		client: c, caller: d, implemented: implemented, clientConfig: r.ClientConfig,
		handler: r.Handler, timeout: r.Timeout, cache: o.cache, configVersion: r.ConfigVersion,
	}
	err = answer.make(ctx, local, response, &outcome)
	var callError *CallError
	if errors.As(err, &callError) && r.FailurePolicy == runtimev1.FailurePolicyIgnore {
		klog.FromContext(ctx).Error(err, "the call of a handler failed, which its failurePolicy ignores", "handler", r.Name, "hook", d.String())
		outcome.Ignored = err
		empty(d, response)
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("handler %q: %w", r.Name, err)
	}
	outcome.Err, outcome.Response = err, response
	for _, observe := range o.observe {
		observe(outcome)
	}
	if c.options.Observe != nil && !outcome.Cached {
		c.options.Observe(outcome)
	}
	return err
}

// empty makes a response a success without any other content.
func empty(d *catalog.Descriptor, response hooksv1.ResponseObject) {
	fresh := d.NewResponse().(hooksv1.ResponseObject)
	fresh.SetStatus(hooksv1.ResponseStatusSuccess)
	assign(response, fresh)
}

// localRequest returns the request for a handler. The request has the settings of the handler's ExtensionConfig, and
// the version that the handler implements.
func (c *Client) localRequest(d, implemented *catalog.Descriptor, r *hookregistry.Registration, request hooksv1.RequestObject) (hooksv1.RequestObject, error) {
	local := request.DeepCopyObject().(hooksv1.RequestObject)
	if len(r.Settings) > 0 {
		settings := maps.Clone(r.Settings)
		maps.Copy(settings, request.GetSettings())
		local.SetSettings(settings)
	}
	if implemented != d {
		converted, err := c.options.Catalog.ConvertRequest(local, d, implemented)
		if err != nil {
			return nil, err
		}
		local = converted.(hooksv1.RequestObject)
	}
	return local, nil
}
