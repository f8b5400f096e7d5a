package hookcalls

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extensionconfig"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/metrics"
)

// Config has the parts of a server that hooks need.
type Config struct {
	Options *Options
	// Dynamic and Kubernetes are clients of the server itself.
	Dynamic    dynamic.Interface
	Kubernetes kubernetes.Interface
	// Services finds extensions, and WebhookAuth authenticates the server to them. Admission webhooks use the same
	// values.
	Services    utilwebhook.ServiceResolver
	WebhookAuth utilwebhook.AuthenticationInfoResolverWrapper
	// Observe is called after each call of an extension: see NewMetrics.
	Observe func(hookclient.Outcome)
}

// Outcome is the result of a call of an extension's handler.
type Outcome = hookclient.Outcome

// Hooks are the runtime hooks of a server.
type Hooks struct {
	config     Config
	catalog    *catalog.Catalog
	registry   *hookregistry.Registry
	client     *hookclient.Client
	controller *extensionconfig.Controller
	running    sync.WaitGroup
}

// NewMetrics registers the metrics of calls in the process, and returns the function that records a call in them. A
// second registration in the process panics.
func NewMetrics() func(hookclient.Outcome) {
	calls := metrics.NewCalls()
	legacyregistry.MustRegister(calls.Metrics()...)
	return calls.Observe
}

// New returns hooks. They do nothing before Start.
func New(config Config) (*Hooks, error) {
	h := &Hooks{config: config, catalog: catalog.New(), registry: hookregistry.New()}
	for _, add := range config.Options.AddToCatalog {
		if err := add(h.catalog); err != nil {
			return nil, fmt.Errorf("catalog of runtime hooks: %w", err)
		}
	}
	connector, err := newConnector(config)
	if err != nil {
		return nil, err
	}
	h.client, err = hookclient.New(hookclient.Options{
		Catalog: h.catalog, Registry: h.registry, Connector: connector, NamespaceLabels: h.namespaceLabels, Observe: config.Observe,
	})
	if err != nil {
		return nil, err
	}
	h.controller, err = extensionconfig.New(extensionconfig.Options{
		Catalog: h.catalog, Client: h.client, Registry: h.registry,
		Dynamic: config.Dynamic, Kubernetes: config.Kubernetes, Period: config.Options.Period,
	})
	return h, err
}

// namespaceLabels requests the labels of a namespace from the server at each call, so that a change is effective at
// once.
func (h *Hooks) namespaceLabels(ctx context.Context, name string) (map[string]string, error) {
	namespace, err := h.config.Kubernetes.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return namespace.Labels, nil
}

// Handlers returns the handlers of the package's paths.
func (h *Hooks) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		conversionPath: http.HandlerFunc(convert),
		CallPath:       http.HandlerFunc(h.serveCall),
	}
}

// Start applies the definition of ExtensionConfig, and discovers extensions until the context "discovering" ends. It
// returns when requests for ExtensionConfigs are served and the stored ExtensionConfigs are listed, or with an error
// when ctx ends. Calls of hooks fail until the extensions of the stored ExtensionConfigs have been discovered.
func (h *Hooks) Start(ctx, discovering context.Context) error {
	if err := h.define(ctx); err != nil {
		return fmt.Errorf("--runtime-hooks: defining ExtensionConfig: %w", err)
	}
	h.running.Go(func() {
		if err := h.controller.Run(discovering); err != nil && discovering.Err() == nil {
			klog.ErrorS(err, "extensions aren't discovered any more")
		}
	})
	select {
	case <-h.controller.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("--runtime-hooks: listing ExtensionConfigs: %w", context.Cause(ctx))
	}
}

// Wait returns when the discovery has ended.
func (h *Hooks) Wait() { h.running.Wait() }
