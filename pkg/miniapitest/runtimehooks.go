package miniapitest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// extensionConfigs is the resource of ExtensionConfigs, which register extensions.
var extensionConfigs = schema.GroupVersionResource{Group: "runtime.cluster.x-k8s.io", Version: "v1beta2", Resource: "extensionconfigs"}

const (
	// runtimeHooksFlag turns the runtime hooks of a server on.
	runtimeHooksFlag = "--runtime-hooks"
	// callPath is the path at which the server calls hooks for its clients.
	callPath = "/miniapi/v1/runtimehooks/call"
	// discoveryTimeout limits the time until the server has discovered an extension.
	discoveryTimeout = 30 * time.Second
)

// extension is the runtime extension of one WithRuntimeExtension.
type extension struct {
	name     string
	requests *hookRequests
}

// WithRuntimeExtension serves a runtime extension by HTTPS, and registers the extension by an ExtensionConfig.
// Start returns when the server has discovered the extension's handlers. The option also turns runtime hooks on, as
// "miniapi serve --runtime-hooks" does. Server.Hooks calls the hooks.
//
// The handler is from package pkg/runtimehooks/extension, or is any other http.Handler that serves the hooks at their
// paths.
func WithRuntimeExtension(name string, handler http.Handler) Option {
	return func(o *options) error {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return fmt.Errorf("WithRuntimeExtension: the name %q must be a DNS label: %s", name, strings.Join(wrong, "; "))
		}
		if isNil(handler) {
			return fmt.Errorf("WithRuntimeExtension %q: the handler must not be nil", name)
		}
		path := "/runtime-extensions/" + name
		if o.handlers[path+"/"] != nil {
			return fmt.Errorf("WithRuntimeExtension: the name %q is given twice: give each extension its own name", name)
		}
		requests := &hookRequests{}
		o.handlers[path+"/"] = http.StripPrefix(path, requests.recording(handler))
		o.extensions = append(o.extensions, extension{name, requests})
		if !slices.Contains(o.description.Flags, runtimeHooksFlag) {
			o.description.Flags = append(o.description.Flags, runtimeHooksFlag)
		}
		return nil
	}
}

// Hooks calls the runtime hooks of a server, and has the recorded requests to extensions.
type Hooks struct {
	server   *Server
	requests map[string]*hookRequests // by the name of the extension
}

// Hooks returns the runtime hooks of a server. The server must have WithRuntimeExtension or the flag --runtime-hooks.
func (s *Server) Hooks() *Hooks { return s.hooks }

// HookCall is a call of a hook.
type HookCall struct {
	// Hook is the name of the hook, such as BeforeClusterCreate, or GROUP/VERSION/HOOK.
	Hook string `json:"hook"`
	// Handler selects a single handler, as HANDLER.EXTENSION. If it is "", all handlers of the hook are called.
	Handler string `json:"handler,omitempty"`
	// Object is the object that the hook is about, such as a Cluster, or the complete request. Its type is any type
	// whose JSON has apiVersion and kind.
	Object any `json:"object,omitempty"`
	// Namespace is the namespace of the object that the hook is about. The default is the namespace of Object. If
	// Object is a request, the default is the namespace of the first object with a namespace in the request.
	Namespace string `json:"namespace,omitempty"`
	// Fields are further fields of the request, such as toKubernetesVersion.
	Fields map[string]any `json:"fields,omitempty"`
	// Settings are the settings of the request: parameters of the extension, such as those in an ExtensionConfig.
	Settings map[string]string `json:"settings,omitempty"`
}

// HookResult is the result of a call of a hook.
type HookResult struct {
	// Answers are the answers of the handlers, in the order of the calls.
	Answers []HookAnswer `json:"answers"`
	// Response is the combined response of the handlers. It is empty if there is an error. Decode it into the Go type
	// of the hook's response.
	Response json.RawMessage `json:"response"`
	// Error is the reason why the call failed. The first handler that fails ends the call.
	Error string `json:"error"`
}

// HookAnswer is the answer of one handler.
type HookAnswer struct {
	// Handler is the name of the handler, as HANDLER.EXTENSION.
	Handler  string          `json:"handler"`
	Duration time.Duration   `json:"duration"`
	Response json.RawMessage `json:"response"`
	// Error is the reason why the call of the handler failed. Ignored is an error that the handler's failure policy
	// ignores.
	Error    string   `json:"error"`
	Ignored  string   `json:"ignored"`
	Warnings []string `json:"warnings"`
}

// Call calls a hook as Cluster API does. It returns an error if the call can't be made. Errors of handlers are in the
// result.
func (h *Hooks) Call(ctx context.Context, call HookCall) (*HookResult, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return nil, fmt.Errorf("call of hook %q: %w", call.Hook, err)
	}
	answer := h.server.Client().Discovery().RESTClient().Post().AbsPath(callPath).Body(body).Do(ctx)
	err = answer.Error() // Error has the server's message, and the error of Raw lacks the message
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("call of hook %q: the server has no runtime hooks: start the server with WithRuntimeExtension, or WithFlags(\"--runtime-hooks\")", call.Hook)
	}
	if err != nil {
		return nil, fmt.Errorf("call of hook %q: %w", call.Hook, err)
	}
	data, err := answer.Raw()
	if err != nil {
		return nil, fmt.Errorf("call of hook %q: %w", call.Hook, err)
	}
	result := &HookResult{}
	return result, json.Unmarshal(data, result)
}

// HookRequest is a recorded request to an extension.
type HookRequest struct {
	// Path is /GROUP/VERSION/HOOK/HANDLER in lower case.
	Path string
	// Body is the request of the hook in JSON.
	Body json.RawMessage
}

// Requests returns the recorded requests to an extension of WithRuntimeExtension, in their order, without discovery
// requests.
func (h *Hooks) Requests(extension string) []HookRequest {
	if requests := h.requests[extension]; requests != nil {
		return requests.list()
	}
	return nil
}

// hookRequests records the requests to an extension.
type hookRequests struct {
	mu   sync.Mutex
	seen []HookRequest
}

func (r *hookRequests) list() []HookRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// recording returns a handler that records requests, except for discovery requests, and calls next.
func (r *hookRequests) recording(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, fmt.Sprintf("reading the body of the request for %s: %v", req.URL.Path, err), http.StatusBadRequest)
			return
		}
		if !strings.HasSuffix(req.URL.Path, "/discovery") {
			r.mu.Lock()
			r.seen = append(r.seen, HookRequest{Path: req.URL.Path, Body: body})
			r.mu.Unlock()
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, req)
	})
}

// registerExtensions applies the ExtensionConfigs of the options, and waits until the server has discovered the
// extensions.
func (s *Server) registerExtensions(ctx context.Context, extensions []extension) error {
	s.hooks = &Hooks{server: s, requests: map[string]*hookRequests{}}
	for _, e := range extensions {
		s.hooks.requests[e.name] = e.requests
		served := &Webhook{server: s.webhooks, path: "/runtime-extensions/" + e.name}
		config := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clientConfig": map[string]any{
			"url": served.URL(), "caBundle": base64.StdEncoding.EncodeToString(served.CABundle()),
		}}}}
		config.SetAPIVersion(extensionConfigs.GroupVersion().String())
		config.SetKind("ExtensionConfig")
		config.SetName(e.name)
		// A data folder may have the ExtensionConfig of an earlier start. Apply replaces the address of such an object.
		// Create would fail.
		if _, err := s.DynamicClient().Resource(extensionConfigs).Apply(ctx, e.name, config, metav1.ApplyOptions{FieldManager: "miniapitest", Force: true}); err != nil {
			return fmt.Errorf("WithRuntimeExtension %q: applying the ExtensionConfig: %w", e.name, err)
		}
	}
	for _, e := range extensions {
		if err := s.awaitDiscovered(ctx, e.name); err != nil {
			return fmt.Errorf("WithRuntimeExtension %q: %w", e.name, err)
		}
	}
	return nil
}

// awaitDiscovered waits until the server has discovered the handlers of an extension.
func (s *Server) awaitDiscovered(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTimeout, fmt.Errorf("the time limit of %s is over", discoveryTimeout))
	defer cancel()
	// A watch without a resource version begins with an event for the present ExtensionConfig.
	watcher, err := s.DynamicClient().Resource(extensionConfigs).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
	})
	if err != nil {
		return fmt.Errorf("watching the ExtensionConfig: %w", err)
	}
	defer watcher.Stop()
	last := "the server hasn't called the extension"
	for {
		select {
		case event, more := <-watcher.ResultChan():
			if !more {
				return fmt.Errorf("the extension isn't discovered: the watch has ended: %s", last)
			}
			config, is := event.Object.(*unstructured.Unstructured)
			if !is {
				return fmt.Errorf("watching the ExtensionConfig: %w", apierrors.FromObject(event.Object))
			}
			discovered, message := isDiscovered(config)
			if discovered {
				return nil
			}
			if message != "" {
				last = message
			}
		case <-ctx.Done():
			return fmt.Errorf("the extension isn't discovered: %w: %s", context.Cause(ctx), last)
		}
	}
}

// isDiscovered returns the status and the message of the condition Discovered. It ignores a condition of an earlier
// generation.
func isDiscovered(config *unstructured.Unstructured) (discovered bool, message string) {
	conditions, _, _ := unstructured.NestedSlice(config.Object, "status", "conditions")
	for _, c := range conditions {
		condition, is := c.(map[string]any)
		if !is || condition["type"] != "Discovered" || condition["observedGeneration"] != config.GetGeneration() {
			continue
		}
		message, _ = condition["message"].(string)
		return condition["status"] == "True", message
	}
	return false, ""
}
