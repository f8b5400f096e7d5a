// Package hookregistry keeps the handlers of all extensions that have been discovered, for callers to find them.
//
// A new registry isn't ready: it returns ErrNotReady until WarmUp has given it all ExtensionConfigs at once. A
// registry with only some of the ExtensionConfigs would make a caller miss handlers. After WarmUp, Add and Remove
// change the handlers of single ExtensionConfigs.
//
// The package doesn't call handlers: package hookclient does.
package hookregistry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
)

// ErrNotReady is the error of a registry before WarmUp has filled it. Read requests can be tried again later.
var ErrNotReady = errors.New("the extensions have not been discovered yet")

// Registration describes a handler that can be called. A Registration is immutable.
type Registration struct {
	// Name is HANDLER.CONFIG. Config is the name of the ExtensionConfig. Handler is the name of the handler in the
	// extension.
	Name, Handler, Config string
	// ConfigVersion is the resource version of the ExtensionConfig.
	ConfigVersion string
	// Hook is the hook version that the handler implements.
	Hook catalog.GroupVersionHook
	// Namespaces selects namespaces by their labels. The handler is called for objects in these namespaces. With an
	// empty selector, it is called for all objects.
	Namespaces labels.Selector
	// ClientConfig says how to reach the extension.
	ClientConfig runtimev1.ClientConfig
	// Timeout bounds each call.
	Timeout time.Duration
	// FailurePolicy says whether a failed call is an error for the caller.
	FailurePolicy runtimev1.FailurePolicy
	// Settings are sent with each request.
	Settings map[string]string
}

// Registry has the handlers of all ExtensionConfigs. It is safe for concurrent use.
type Registry struct {
	mu      sync.RWMutex
	configs map[string][]*Registration
	ready   chan struct{}
}

// New returns a registry that isn't ready.
func New() *Registry {
	return &Registry{configs: map[string][]*Registration{}, ready: make(chan struct{})}
}

// Ready returns a channel that is closed when the registry is ready.
func (r *Registry) Ready() <-chan struct{} { return r.ready }

func (r *Registry) isReady() bool {
	select {
	case <-r.ready:
		return true
	default:
		return false
	}
}

// WarmUp gives a new registry the handlers of all ExtensionConfigs, and makes it ready. If one of the
// ExtensionConfigs is invalid, the registry stays empty, and the error names each invalid ExtensionConfig.
func (r *Registry) WarmUp(configs []runtimev1.ExtensionConfig) error {
	all := map[string][]*Registration{}
	var errs []error
	for i := range configs {
		registrations, err := registrationsOf(&configs[i])
		if err != nil {
			errs = append(errs, err)
		}
		all[configs[i].Name] = registrations
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isReady() {
		return errors.New("the registry is ready already: call WarmUp once, and then Add")
	}
	r.configs = all
	close(r.ready)
	return nil
}

// Add replaces the handlers of an ExtensionConfig by the handlers in its status. If one of the handlers is invalid,
// nothing changes.
func (r *Registry) Add(config *runtimev1.ExtensionConfig) error {
	registrations, err := registrationsOf(config)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isReady() {
		return fmt.Errorf("adding ExtensionConfig %q: %w: call WarmUp first", config.Name, ErrNotReady)
	}
	r.configs[config.Name] = registrations
	return nil
}

// Remove removes the handlers of an ExtensionConfig, if there are any.
func (r *Registry) Remove(config string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.configs, config)
}

// List returns the handlers of a hook, in any version. They are sorted by the name of the ExtensionConfig, and then
// by the name of the handler.
func (r *Registry) List(hook catalog.GroupHook) ([]*Registration, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.isReady() {
		return nil, fmt.Errorf("handlers of hook %s: %w: try again later; if this error stays, the condition Discovered of an ExtensionConfig says why", hook, ErrNotReady)
	}
	var found []*Registration
	for _, registrations := range r.configs {
		for _, registration := range registrations {
			if registration.Hook.GroupHook() == hook {
				found = append(found, registration)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Registration) int {
		return cmp.Or(cmp.Compare(a.Config, b.Config), cmp.Compare(a.Handler, b.Handler))
	})
	return found, nil
}

// Get returns a handler by its name, HANDLER.CONFIG.
func (r *Registry) Get(name string) (*Registration, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if !r.isReady() {
		return nil, fmt.Errorf("handler %q: %w: try again later; if this error stays, the condition Discovered of an ExtensionConfig says why", name, ErrNotReady)
	}
	_, config, _ := strings.Cut(name, ".")
	for _, registration := range r.configs[config] {
		if registration.Name == name {
			return registration, nil
		}
	}
	return nil, fmt.Errorf("no extension has a handler %q: must be HANDLER.EXTENSIONCONFIG of an extension that has been discovered", name)
}

func registrationsOf(config *runtimev1.ExtensionConfig) ([]*Registration, error) {
	selector := labels.Everything()
	if s := config.Spec.NamespaceSelector; s != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			return nil, fmt.Errorf("ExtensionConfig %q: spec.namespaceSelector: %w", config.Name, err)
		}
	}
	var errs []error
	registrations := make([]*Registration, 0, len(config.Status.Handlers))
	for i, handler := range config.Status.Handlers {
		name, ofConfig := strings.CutSuffix(handler.Name, "."+config.Name)
		gv, err := schema.ParseGroupVersion(handler.RequestHook.APIVersion)
		if err != nil {
			err = fmt.Errorf("requestHook.apiVersion %q: must be GROUP/VERSION: %w", handler.RequestHook.APIVersion, err)
		}
		if err != nil || !ofConfig {
			errs = append(errs, fmt.Errorf("ExtensionConfig %q: status.handlers[%d]: %w", config.Name, i,
				cmp.Or(err, fmt.Errorf("name %q: must end with .%s", handler.Name, config.Name))))
			continue
		}
		registrations = append(registrations, &Registration{
			Name: handler.Name, Handler: name, Config: config.Name, ConfigVersion: config.ResourceVersion,
			Hook:          catalog.GroupVersionHook{Group: gv.Group, Version: gv.Version, Hook: handler.RequestHook.Hook},
			Namespaces:    selector,
			ClientConfig:  config.Spec.ClientConfig,
			Timeout:       time.Duration(cmp.Or(handler.TimeoutSeconds, hooksv1.DefaultTimeoutSeconds)) * time.Second,
			FailurePolicy: cmp.Or(handler.FailurePolicy, runtimev1.FailurePolicyFail),
			Settings:      config.Spec.Settings,
		})
	}
	return registrations, errors.Join(errs...)
}
