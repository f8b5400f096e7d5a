package hookclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// discoveryTimeout bounds the time of a call of the hook Discovery.
const discoveryTimeout = 10 * time.Second

// Discover calls the hook Discovery of an extension. It returns the handlers for the status of the ExtensionConfig,
// sorted by name, with defaults. If any part of the answer is invalid, it returns an error.
func (c *Client) Discover(ctx context.Context, config *runtimev1.ExtensionConfig) ([]runtimev1.ExtensionHandler, error) {
	d, err := c.options.Catalog.Describe(hooksv1.Discovery)
	if err != nil {
		return nil, err
	}
	response := &hooksv1.DiscoveryResponse{}
	outcome := Outcome{Hook: d.GroupVersionHook, Implemented: d.GroupVersionHook}
	ask := exchange{client: c, caller: d, implemented: d, clientConfig: config.Spec.ClientConfig, timeout: discoveryTimeout, check: checkHandlersField}
	err = ask.make(ctx, &hooksv1.DiscoveryRequest{}, response, &outcome)
	outcome.Err, outcome.Response = err, response
	if c.options.Observe != nil {
		c.options.Observe(outcome)
	}
	if err != nil {
		return nil, fmt.Errorf("discovery of ExtensionConfig %q: %w", config.Name, err)
	}
	handlers, err := handlersOf(c.options.Catalog, config.Name, response.Handlers)
	if err != nil {
		return nil, fmt.Errorf("discovery of ExtensionConfig %q: the answer is invalid: %w", config.Name, err)
	}
	return handlers, nil
}

// checkHandlersField returns an error for an answer that has its handlers in the field "items", as in the proposal of the
// Runtime SDK. Such an answer would count as one without handlers.
func checkHandlersField(body []byte) error {
	var answer struct{ Handlers, Items json.RawMessage }
	if json.Unmarshal(body, &answer) == nil && answer.Items != nil && answer.Handlers == nil {
		return callErrorf(`the response has the field "items": the handlers must be in the field "handlers", each with its hook in "requestHook"`)
	}
	return nil
}

// handlersOf validates the answer to Discovery, and sets defaults.
func handlersOf(c *catalog.Catalog, config string, answered []hooksv1.ExtensionHandler) ([]runtimev1.ExtensionHandler, error) {
	var errs []error
	seen := map[string]bool{}
	handlers := make([]runtimev1.ExtensionHandler, 0, len(answered))
	for i, h := range answered {
		if err := checkHandler(c, h); err != nil {
			errs = append(errs, fmt.Errorf("handlers[%d], %q: %w", i, h.Name, err))
		}
		if seen[h.Name] {
			errs = append(errs, fmt.Errorf("handlers[%d]: %q is given twice: each handler must have its own name", i, h.Name))
		}
		seen[h.Name] = true
		handlers = append(handlers, runtimev1.ExtensionHandler{
			Name:           h.Name + "." + config,
			RequestHook:    runtimev1.GroupVersionHook{APIVersion: h.RequestHook.APIVersion, Hook: h.RequestHook.Hook},
			TimeoutSeconds: ptr.Deref(h.TimeoutSeconds, hooksv1.DefaultTimeoutSeconds),
			FailurePolicy:  runtimev1.FailurePolicy(ptr.Deref(h.FailurePolicy, hooksv1.FailurePolicyFail)),
		})
	}
	slices.SortFunc(handlers, func(a, b runtimev1.ExtensionHandler) int { return cmp.Compare(a.Name, b.Name) })
	return handlers, errors.Join(errs...)
}

func checkHandler(c *catalog.Catalog, h hooksv1.ExtensionHandler) error {
	var errs []error
	for _, message := range validation.IsDNS1123Label(h.Name) {
		errs = append(errs, fmt.Errorf("the name must be a DNS label: %s", message))
	}
	if s := h.TimeoutSeconds; s != nil && (*s < hooksv1.MinTimeoutSeconds || *s > hooksv1.MaxTimeoutSeconds) {
		errs = append(errs, fmt.Errorf("timeoutSeconds is %d, and must be between %d and %d", *s, hooksv1.MinTimeoutSeconds, hooksv1.MaxTimeoutSeconds))
	}
	if p := h.FailurePolicy; p != nil && *p != hooksv1.FailurePolicyFail && *p != hooksv1.FailurePolicyIgnore {
		errs = append(errs, fmt.Errorf("failurePolicy is %q, and must be Fail or Ignore", *p))
	}
	hook, err := h.RequestHook.Parse()
	switch {
	case err != nil:
		errs = append(errs, fmt.Errorf("requestHook.apiVersion %q: %w", h.RequestHook.APIVersion, err))
	case c.Hook(hook) == nil:
		errs = append(errs, fmt.Errorf("the catalog has no hook %s", hook))
	case c.Hook(hook).Singleton:
		errs = append(errs, fmt.Errorf("hook %s is a singleton: the extension must not list a handler of this hook", hook))
	}
	return errors.Join(errs...)
}
