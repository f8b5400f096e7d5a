package miniapitest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
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

// extensionConfigs are the objects that register extensions.
var extensionConfigs = schema.GroupVersionResource{Group: "runtime.cluster.x-k8s.io", Version: "v1beta2", Resource: "extensionconfigs"}

const (
	// runtimeHooksFlag makes a server call runtime hooks.
	runtimeHooksFlag = "--runtime-hooks"
	// callPath is the path at which a server calls hooks for its clients.
	callPath = "/miniapi/v1/runtimehooks/call"
	// discoveryTimeout bounds the time until an extension is discovered.
	discoveryTimeout = 30 * time.Second
)

// extension is a runtime extension of an option.
type extension struct {
	name     string
	requests *hookRequests
}

// WithRuntimeExtension serves a runtime extension by HTTPS, and registers it by an ExtensionConfig with a name. The start
// returns when the server knows the extension's handlers. The server then has runtime hooks, as by "miniapi serve
// --runtime-hooks", and Hooks calls them.
//
// The handler is that of package pkg/runtimehooks/extension, or any other that serves the hooks at their paths.
func WithRuntimeExtension(name string, handler http.Handler) Option {
	return func(o *options) error {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return fmt.Errorf("WithRuntimeExtension: the name %q is no DNS label: %s", name, strings.Join(wrong, "; "))
		}
		if isNil(handler) {
			return fmt.Errorf("WithRuntimeExtension %q: the handler is nil", name)
		}
		path := "/runtime-extensions/" + name
		if o.handlers[path+"/"] != nil {
			return fmt.Errorf("WithRuntimeExtension: %q is there twice", name)
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

// Hooks calls the runtime hooks of a server, and lists the requests to its extensions.
type Hooks struct {
	server   *Server
	requests map[string]*hookRequests // by extension
}

// Hooks returns the runtime hooks of a server with WithRuntimeExtension, or with the flag --runtime-hooks.
func (s *Server) Hooks() *Hooks { return s.hooks }

// HookCall is a call of a hook.
type HookCall struct {
	// Hook is the name of a hook, such as BeforeClusterCreate, or GROUP/VERSION/HOOK.
	Hook string `json:"hook"`
	// Handler is the one handler to call, HANDLER.EXTENSION. Without it, all handlers of the hook are called.
	Handler string `json:"handler,omitempty"`
	// Object is the object for which the hook is called, such as a Cluster, or the whole request. It is anything whose
	// JSON is that, with apiVersion and kind.
	Object any `json:"object,omitempty"`
	// Namespace is that of the object for which the hook is called. The default is the namespace of Object, or of the first
	// object in it if it is a request.
	Namespace string `json:"namespace,omitempty"`
	// Fields are further fields of the request, such as toKubernetesVersion.
	Fields map[string]any `json:"fields,omitempty"`
	// Settings are the settings of the request.
	Settings map[string]string `json:"settings,omitempty"`
}

// HookResult is what a call came to.
type HookResult struct {
	// Answers are those of the handlers, in the order of the calls.
	Answers []HookAnswer `json:"answers"`
	// Response is the combined response of the handlers, if there is no error. Decode it into the response of the hook.
	Response json.RawMessage `json:"response"`
	// Error is why the call has failed: the first handler that failed ends it.
	Error string `json:"error"`
}

// HookAnswer is what a handler answered.
type HookAnswer struct {
	// Handler is HANDLER.EXTENSION.
	Handler  string          `json:"handler"`
	Duration time.Duration   `json:"duration"`
	Response json.RawMessage `json:"response"`
	// Error is why the call of the handler has failed, and Ignored the error that its failure policy ignored.
	Error    string   `json:"error"`
	Ignored  string   `json:"ignored"`
	Warnings []string `json:"warnings"`
}

// Call calls a hook, as Cluster API would. The error is that of a call that can't be made. What handlers answer, failures
// too, is in the result.
func (h *Hooks) Call(ctx context.Context, call HookCall) (*HookResult, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return nil, fmt.Errorf("call of hook %q: %w", call.Hook, err)
	}
	answer := h.server.Client().Discovery().RESTClient().Post().AbsPath(callPath).Body(body).Do(ctx)
	err = answer.Error() // unlike the error of Raw, with the message of the server
	if apierrors.IsNotFound(err) {
		return nil, errors.New("the server has no runtime hooks: start it with WithRuntimeExtension, or WithFlags(\"--runtime-hooks\")")
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

// HookRequest is a request that an extension got.
type HookRequest struct {
	// Path is /GROUP/VERSION/HOOK/HANDLER, in lower case. That of discovery has no handler.
	Path string
	// Body is the request of the hook.
	Body json.RawMessage
}

// Requests returns what was sent to an extension of WithRuntimeExtension: calls of hooks, in their order, without
// discovery.
func (h *Hooks) Requests(extension string) []HookRequest {
	if requests := h.requests[extension]; requests != nil {
		return requests.list()
	}
	return nil
}

// hookRequests records the requests of an extension.
type hookRequests struct {
	mu   sync.Mutex
	seen []HookRequest
}

func (r *hookRequests) list() []HookRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}

// recording records the requests to a handler.
func (r *hookRequests) recording(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
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

// registerExtensions creates the ExtensionConfigs of the options, and waits until they are discovered.
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
		// A data folder may have one of an earlier start, at another address.
		if _, err := s.DynamicClient().Resource(extensionConfigs).Apply(ctx, e.name, config, metav1.ApplyOptions{FieldManager: "miniapitest", Force: true}); err != nil {
			return fmt.Errorf("WithRuntimeExtension %q: %w", e.name, err)
		}
	}
	for _, e := range extensions {
		if err := s.awaitDiscovered(ctx, e.name); err != nil {
			return fmt.Errorf("WithRuntimeExtension %q: %w", e.name, err)
		}
	}
	return nil
}

// awaitDiscovered waits until the server knows the handlers of an extension.
func (s *Server) awaitDiscovered(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	// Without a resource version, the first event is the ExtensionConfig as it is.
	watcher, err := s.DynamicClient().Resource(extensionConfigs).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	last := "the server hasn't asked it"
	for {
		select {
		case event, more := <-watcher.ResultChan():
			if !more {
				return fmt.Errorf("the extension isn't discovered: the watch has ended: %s", last)
			}
			config, is := event.Object.(*unstructured.Unstructured)
			if !is {
				return apierrors.FromObject(event.Object)
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

// isDiscovered reads the condition Discovered of an ExtensionConfig.
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
