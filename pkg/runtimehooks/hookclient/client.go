package hookclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

// Options have the dependencies and settings of a client.
type Options struct {
	// Catalog has the hooks that can be called.
	Catalog *catalog.Catalog
	// Registry has the handlers. All methods of a client except Discover need it.
	Registry *hookregistry.Registry
	// Connector connects to extensions.
	Connector Connector
	// NamespaceLabels returns the labels of a namespace. It is required if an ExtensionConfig has a
	// namespaceSelector.
	NamespaceLabels func(ctx context.Context, namespace string) (map[string]string, error)
	// Observe is called after each call of a handler, including Discovery, unless the response is from a cache. It may
	// be nil. It must be safe for concurrent use.
	Observe func(Outcome)
}

// Client calls hooks. It is safe for concurrent use.
type Client struct {
	options Options
}

// New returns a client.
func New(options Options) (*Client, error) {
	if options.Catalog == nil || options.Connector == nil {
		return nil, errors.New("a client of hooks: Options.Catalog and Options.Connector must be set")
	}
	return &Client{options}, nil
}

// CallOption changes a single call.
type CallOption func(*callOptions)

type callOptions struct {
	cache   *ResponseCache
	observe []func(Outcome)
}

// WithCache makes a call use a cache. If the cache has a handler's response to the same request, the handler isn't
// called. Otherwise the handler's response is added to the cache, if it is a success and doesn't block.
func WithCache(cache *ResponseCache) CallOption {
	return func(o *callOptions) { o.cache = cache }
}

// WithObserver calls a function with the outcome of each handler, in the order of the calls.
func WithObserver(observe func(Outcome)) CallOption {
	return func(o *callOptions) { o.observe = append(o.observe, observe) }
}

// GetAllExtensions returns the names of the handlers that CallAll would call for an object, in the order of the
// calls. The handlers may implement any version of the hook.
func (c *Client) GetAllExtensions(ctx context.Context, hook catalog.Hook, forObject metav1.Object) ([]string, error) {
	d, err := c.options.Catalog.Describe(hook)
	if err != nil {
		return nil, err
	}
	registrations, err := c.matching(ctx, d, forObject)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(registrations))
	for i, r := range registrations {
		names[i] = r.Name
	}
	return names, nil
}

// registry returns the registry of the options, or an error if there is none.
func (c *Client) registry() (*hookregistry.Registry, error) {
	if c.options.Registry == nil {
		return nil, errors.New("the client has no registry to find handlers in: set Options.Registry")
	}
	return c.options.Registry, nil
}

func (c *Client) matching(ctx context.Context, d *catalog.Descriptor, forObject metav1.Object) ([]*hookregistry.Registration, error) {
	handlers, err := c.registry()
	if err != nil {
		return nil, err
	}
	all, err := handlers.List(d.GroupHook())
	if err != nil {
		return nil, err
	}
	var matching []*hookregistry.Registration
	for _, r := range all {
		matches, err := c.matches(ctx, r, forObject)
		if err != nil {
			return nil, fmt.Errorf("handler %q of hook %s: %w", r.Name, d, err)
		}
		if matches {
			matching = append(matching, r)
		}
	}
	return matching, nil
}

// matches reports whether a handler is called for an object. The namespace of the object decides.
func (c *Client) matches(ctx context.Context, r *hookregistry.Registration, forObject metav1.Object) (bool, error) {
	if r.Namespaces.Empty() {
		return true, nil
	}
	namespace := forObject.GetNamespace()
	if namespace == "" {
		return false, fmt.Errorf("object %q has no namespace, and spec.namespaceSelector of ExtensionConfig %q selects by namespaces: give an object with a namespace", forObject.GetName(), r.Config)
	}
	if c.options.NamespaceLabels == nil {
		return false, fmt.Errorf("ExtensionConfig %q has a spec.namespaceSelector, and the client doesn't read namespaces: set Options.NamespaceLabels", r.Config)
	}
	of, err := c.options.NamespaceLabels(ctx, namespace)
	if err != nil {
		return false, fmt.Errorf("reading the labels of namespace %q: %w", namespace, err)
	}
	return r.Namespaces.Matches(labels.Set(of)), nil
}

// CallAll calls all handlers of a hook for an object, one after the other. It combines their responses into the
// argument "response": the status is Success, retryAfterSeconds is the lowest value that isn't 0, and the messages
// are joined. Other fields of the handlers' responses are only passed to WithObserver.
//
// The first handler that fails ends the call. If the caller calls again, after an error or because a handler
// blocks, all handlers are called again.
func (c *Client) CallAll(ctx context.Context, hook catalog.Hook, forObject metav1.Object, request hooksv1.RequestObject, response hooksv1.ResponseObject, options ...CallOption) error {
	d, err := c.describe(hook, request, response)
	if err != nil {
		return err
	}
	registrations, err := c.matching(ctx, d, forObject)
	if err != nil {
		return err
	}
	responses := make([]hooksv1.ResponseObject, len(registrations))
	for i, r := range registrations {
		responses[i] = d.NewResponse().(hooksv1.ResponseObject)
		if err := c.call(ctx, d, r, request, responses[i], options); err != nil {
			return fmt.Errorf("hook %s: %w", d, err)
		}
	}
	aggregate(response, responses)
	return nil
}

// aggregate combines the responses of all handlers. All of them have the status Success.
func aggregate(into hooksv1.ResponseObject, responses []hooksv1.ResponseObject) {
	into.SetStatus(hooksv1.ResponseStatusSuccess)
	var messages []string
	var lowest int32
	for _, response := range responses {
		if message := response.GetMessage(); message != "" {
			messages = append(messages, message)
		}
		if retry, is := response.(hooksv1.RetryResponseObject); is {
			if seconds := retry.GetRetryAfterSeconds(); seconds != 0 && (lowest == 0 || seconds < lowest) {
				lowest = seconds
			}
		}
	}
	into.SetMessage(strings.Join(messages, ", "))
	if retry, is := into.(hooksv1.RetryResponseObject); is {
		retry.SetRetryAfterSeconds(lowest)
	}
}

// CallExtension calls one handler by its name, HANDLER.CONFIG, for an object, and fills the argument "response". The
// handler may implement another version of the hook. If the handler isn't for objects in the object's namespace,
// CallExtension returns an error.
func (c *Client) CallExtension(ctx context.Context, hook catalog.Hook, forObject metav1.Object, name string, request hooksv1.RequestObject, response hooksv1.ResponseObject, options ...CallOption) error {
	d, err := c.describe(hook, request, response)
	if err != nil {
		return err
	}
	handlers, err := c.registry()
	if err != nil {
		return err
	}
	r, err := handlers.Get(name)
	if err != nil {
		return err
	}
	if r.Hook.GroupHook() != d.GroupHook() {
		return fmt.Errorf("handler %q implements hook %s, not %s: name a handler of the hook that is called", name, r.Hook, d)
	}
	matches, err := c.matches(ctx, r, forObject)
	if err != nil {
		return fmt.Errorf("handler %q: %w", name, err)
	}
	if !matches {
		return fmt.Errorf("handler %q: spec.namespaceSelector of ExtensionConfig %q doesn't select namespace %q of object %q",
			name, r.Config, forObject.GetNamespace(), forObject.GetName())
	}
	return c.call(ctx, d, r, request, response, options)
}

func (c *Client) describe(hook catalog.Hook, request hooksv1.RequestObject, response hooksv1.ResponseObject) (*catalog.Descriptor, error) {
	d, err := c.options.Catalog.Describe(hook)
	if err != nil {
		return nil, err
	}
	return d, errors.Join(d.CheckRequest(request), d.CheckResponse(response))
}
