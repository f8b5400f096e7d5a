package hookclient_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

// world is a client, with the extensions that it can call.
type world struct {
	t        testing.TB
	catalog  *catalog.Catalog
	registry *hookregistry.Registry
	client   *hookclient.Client
	labels   map[string]map[string]string // the labels of the namespaces, by name
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, catalog: catalog.New(), registry: hookregistry.New(), labels: map[string]map[string]string{}}
	if err := clusterapi.AddToCatalog(w.catalog); err != nil {
		t.Fatal(err)
	}
	if err := w.registry.WarmUp(nil); err != nil {
		t.Fatal(err)
	}
	var err error
	w.client, err = hookclient.New(hookclient.Options{
		Catalog: w.catalog, Registry: w.registry, Connector: newConnector(t),
		NamespaceLabels: func(_ context.Context, name string) (map[string]string, error) {
			of, ok := w.labels[name]
			if !ok {
				return nil, fmt.Errorf("namespace %q not found", name)
			}
			return of, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newConnector(t testing.TB) hookclient.Connector {
	t.Helper()
	connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connector.Close)
	return connector
}

// serve serves a handler by HTTPS. It returns an ExtensionConfig for the handler.
func (w *world) serve(name string, handler http.Handler) *runtimev1.ExtensionConfig {
	w.t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	w.t.Cleanup(server.Close)
	config := &runtimev1.ExtensionConfig{}
	config.Name, config.ResourceVersion = name, "1"
	config.Spec.ClientConfig = runtimev1.ClientConfig{URL: server.URL, CABundle: certificateOf(server)}
	return config
}

func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// register calls Discovery for an ExtensionConfig, and adds its handlers to the registry.
func (w *world) register(config *runtimev1.ExtensionConfig) {
	w.t.Helper()
	handlers, err := w.client.Discover(w.t.Context(), config)
	if err != nil {
		w.t.Fatal(err)
	}
	config.Status.Handlers = handlers
	if err := w.registry.Add(config); err != nil {
		w.t.Fatal(err)
	}
}

// extend serves handlers, and registers them.
func (w *world) extend(name string, handlers ...extension.Handler) *runtimev1.ExtensionConfig {
	w.t.Helper()
	e, err := extension.New(extension.Options{Catalog: w.catalog}, handlers...)
	if err != nil {
		w.t.Fatal(err)
	}
	config := w.serve(name, e)
	w.register(config)
	return config
}

// beforeCreate makes a handler of the hook BeforeClusterCreate.
func beforeCreate(name string, handle func(context.Context, *clusterapi.BeforeClusterCreateRequest, *clusterapi.BeforeClusterCreateResponse), options ...extension.HandlerOption) extension.Handler {
	return extension.Of(clusterapi.BeforeClusterCreate, name, handle, options...)
}

// answering makes a handler that gives the same answer to each call.
func answering(name string, answer hooksv1.CommonRetryResponse, options ...extension.HandlerOption) extension.Handler {
	return beforeCreate(name, func(_ context.Context, _ *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
		response.CommonRetryResponse = answer
	}, options...)
}

func success(message string, retryAfterSeconds int32) hooksv1.CommonRetryResponse {
	r := hooksv1.CommonRetryResponse{RetryAfterSeconds: retryAfterSeconds}
	r.Status, r.Message = hooksv1.ResponseStatusSuccess, message
	return r
}

func failure(message string) hooksv1.CommonRetryResponse {
	r := hooksv1.CommonRetryResponse{}
	r.Status, r.Message = hooksv1.ResponseStatusFailure, message
	return r
}

var cluster = &metav1.ObjectMeta{Namespace: "default", Name: "c"}

// callAll calls the hook BeforeClusterCreate for a Cluster. It returns the result, and the outcomes of the
// handlers.
func (w *world) callAll(options ...hookclient.CallOption) (*clusterapi.BeforeClusterCreateResponse, []hookclient.Outcome, error) {
	var outcomes []hookclient.Outcome
	options = append(options, hookclient.WithObserver(func(o hookclient.Outcome) { outcomes = append(outcomes, o) }))
	response := &clusterapi.BeforeClusterCreateResponse{}
	err := w.client.CallAll(w.t.Context(), clusterapi.BeforeClusterCreate, cluster, request(nil), response, options...)
	return response, outcomes, err
}

func request(settings map[string]string) *clusterapi.BeforeClusterCreateRequest {
	r := &clusterapi.BeforeClusterCreateRequest{Cluster: runtime.RawExtension{Raw: []byte(`{"kind":"Cluster","metadata":{"name":"c"}}`)}}
	r.Settings = settings
	return r
}

func handlersOf(outcomes []hookclient.Outcome) []string {
	var names []string
	for _, o := range outcomes {
		names = append(names, o.Handler)
	}
	return names
}

func TestCallAll(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		extensions   map[string][]extension.Handler
		want         hooksv1.CommonRetryResponse
		called       []string
		err          string
	}{{
		name:   "nothing registered",
		reason: "a hook without handlers lets the operation go on",
		want:   success("", 0),
	}, {
		name:   "order",
		reason: "handlers are called in the order of the names of their ExtensionConfigs, and then of their own names",
		extensions: map[string][]extension.Handler{
			"b": {answering("z", success("3", 0)), answering("a", success("2", 0))},
			"a": {answering("z", success("1", 0))},
		},
		want:   success("1, 2, 3", 0),
		called: []string{"z.a", "a.b", "z.b"},
	}, {
		name:   "blocking",
		reason: "the lowest time that isn't 0 counts, because 0 stands for a handler that doesn't block",
		extensions: map[string][]extension.Handler{"a": {
			answering("a", success("wait for quota", 30)), answering("b", success("", 10)), answering("c", success("", 0)),
		}},
		want:   success("wait for quota", 10),
		called: []string{"a.a", "b.a", "c.a"},
	}, {
		name:   "failure",
		reason: "the first failure ends the call",
		extensions: map[string][]extension.Handler{"a": {
			answering("a", success("", 0)), answering("b", failure("no quota")), answering("c", success("", 0)),
		}},
		called: []string{"a.a", "b.a"},
		err:    `handler "b.a": answered Failure: no quota`,
	}, {
		name:   "failure under Ignore",
		reason: "an answer with the status Failure is never ignored",
		extensions: map[string][]extension.Handler{"a": {
			answering("a", failure("no quota"), extension.FailurePolicy(hooksv1.FailurePolicyIgnore)),
		}},
		called: []string{"a.a"},
		err:    "no quota",
	}, {
		name:   "two configs with one handler name",
		reason: "the name of a handler together with the name of its ExtensionConfig is unique",
		extensions: map[string][]extension.Handler{
			"a": {answering("quota", success("a", 0))},
			"b": {answering("quota", success("b", 0))},
		},
		want:   success("a, b", 0),
		called: []string{"quota.a", "quota.b"},
	}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for name, handlers := range test.extensions {
				w.extend(name, handlers...)
			}
			response, outcomes, err := w.callAll()
			if diff := cmp.Diff(test.called, handlersOf(outcomes)); diff != "" {
				t.Errorf("called (-want +got, %s): %s", test.reason, diff)
			}
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v lacks %q (%s)", err, test.err, test.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, response.CommonRetryResponse); diff != "" {
				t.Errorf("response (-want +got, %s): %s", test.reason, diff)
			}
		})
	}
}

// TestEachCallCallsAll lets a handler block the first call. The second call must call all handlers again.
func TestEachCallCallsAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	calls := map[string]int{}
	count := func(name string, answer func(n int) hooksv1.CommonRetryResponse) extension.Handler {
		return beforeCreate(name, func(_ context.Context, _ *clusterapi.BeforeClusterCreateRequest, r *clusterapi.BeforeClusterCreateResponse) {
			mu.Lock()
			defer mu.Unlock()
			calls[name]++
			r.CommonRetryResponse = answer(calls[name])
		})
	}
	w.extend("a",
		count("ready", func(int) hooksv1.CommonRetryResponse { return success("", 0) }),
		count("waits", func(n int) hooksv1.CommonRetryResponse {
			if n == 1 {
				return success("not yet", 30)
			}
			return success("", 0)
		}))
	for _, want := range []int32{30, 0} {
		response, _, err := w.callAll()
		if err != nil || response.RetryAfterSeconds != want {
			t.Fatalf("retryAfterSeconds is %d, not %d: %v", response.RetryAfterSeconds, want, err)
		}
	}
	if diff := cmp.Diff(map[string]int{"ready": 2, "waits": 2}, calls); diff != "" {
		t.Errorf("calls (-want +got): %s", diff)
	}
}

// If one of several handlers fails, a further call calls all of them again, also those that had succeeded and don't block.
func TestAllAreCalledAfterFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	failing := true
	calls := map[string]int{}
	generate := func(name string, status func() hooksv1.ResponseStatus) extension.Handler {
		return extension.Of(clusterapi.GeneratePatches, name, func(_ context.Context, _ *clusterapi.GeneratePatchesRequest, r *clusterapi.GeneratePatchesResponse) {
			calls[name]++ // the client calls one handler after the other
			r.Status = status()
		})
	}
	w.extend("a",
		generate("first", func() hooksv1.ResponseStatus { return hooksv1.ResponseStatusSuccess }),
		generate("second", func() hooksv1.ResponseStatus {
			if failing {
				return hooksv1.ResponseStatusFailure
			}
			return hooksv1.ResponseStatusSuccess
		}))
	call := func() error {
		return w.client.CallAll(t.Context(), clusterapi.GeneratePatches, cluster, &clusterapi.GeneratePatchesRequest{}, &clusterapi.GeneratePatchesResponse{})
	}
	if err := call(); err == nil {
		t.Fatal("want the failure of the second handler")
	}
	failing = false
	if err := call(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"first": 2, "second": 2}, calls); diff != "" {
		t.Errorf("calls (-want +got): %s", diff)
	}
}

// A handler gets the caller's request, whatever the handlers before it have answered.
func TestHandlersAreIndependent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var got []string
	handler := func(name, answer string) extension.Handler {
		return beforeCreate(name, func(_ context.Context, r *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
			got = append(got, fmt.Sprintf("%s %v %q", r.Cluster.Raw, r.Settings, response.Message)) // the client calls one handler after the other
			response.CommonRetryResponse = success(answer, 0)
			r.Cluster.Raw, r.Settings = []byte(`{"kind":"Cluster","metadata":{"name":"changed"}}`), map[string]string{"changed": "yes"}
		})
	}
	w.extend("a", handler("a", "changed"), handler("b", ""))
	if _, _, err := w.callAll(); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] != got[1] {
		t.Errorf("the handlers got different requests: %q", got)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := make(chan map[string]string, 1)
	e, err := extension.New(extension.Options{Catalog: w.catalog}, beforeCreate("a", func(_ context.Context, r *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
		got <- r.Settings
		response.Status = hooksv1.ResponseStatusSuccess
	}))
	if err != nil {
		t.Fatal(err)
	}
	config := w.serve("a", e)
	config.Spec.Settings = map[string]string{"of": "the config", "from": "the config"}
	w.register(config)
	sent := request(map[string]string{"of": "the caller", "mode": "dry"})
	err = w.client.CallExtension(t.Context(), clusterapi.BeforeClusterCreate, cluster, "a.a", sent, &clusterapi.BeforeClusterCreateResponse{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"of": "the caller", "from": "the config", "mode": "dry"}, <-got); diff != "" {
		t.Errorf("settings (-want +got): %s", diff)
	}
	if diff := cmp.Diff(map[string]string{"of": "the caller", "mode": "dry"}, sent.Settings); diff != "" {
		t.Errorf("the caller's request has changed (-want +got): %s", diff)
	}
	if sent.Kind != "" {
		t.Errorf("the caller's request has changed: its kind is %s", sent.Kind)
	}
}

func TestNamespaceSelector(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.labels["default"], w.labels["other"] = map[string]string{"env": "test"}, map[string]string{}
	for name, selector := range map[string]*metav1.LabelSelector{
		"all": nil, "empty": {}, "matching": {MatchLabels: map[string]string{"env": "test"}},
		"others": {MatchLabels: map[string]string{"env": "prod"}},
	} {
		e, err := extension.New(extension.Options{Catalog: w.catalog}, answering("a", success("", 0)))
		if err != nil {
			t.Fatal(err)
		}
		config := w.serve(name, e)
		config.Spec.NamespaceSelector = selector
		w.register(config)
	}
	for _, test := range []struct {
		namespace, reason string
		want              []string
		err               string
	}{
		{namespace: "default", reason: "the labels of the namespace match the selector", want: []string{"a.all", "a.empty", "a.matching"}},
		{namespace: "other", reason: "a namespace without the label isn't selected", want: []string{"a.all", "a.empty"}},
		{namespace: "missing", reason: "a namespace that can't be read fails the call: its labels are unknown",
			err: `namespace "missing" not found`},
		{namespace: "", reason: "an object without a namespace has no labels that a selector could match", err: "has no namespace"},
	} {
		t.Run(test.namespace, func(t *testing.T) {
			names, err := w.client.GetAllExtensions(t.Context(), clusterapi.BeforeClusterCreate, &metav1.ObjectMeta{Namespace: test.namespace, Name: "c"})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v lacks %q (%s)", err, test.err, test.reason)
				}
				return
			}
			if diff := cmp.Diff(test.want, names); diff != "" || err != nil {
				t.Errorf("%v (-want +got, %s): %s", err, test.reason, diff)
			}
		})
	}
	err := w.client.CallExtension(t.Context(), clusterapi.BeforeClusterCreate, cluster, "a.others", request(nil), &clusterapi.BeforeClusterCreateResponse{})
	if err == nil || !strings.Contains(err.Error(), "doesn't select namespace") {
		t.Errorf("a handler for other namespaces was called: %v", err)
	}
}

func TestCallExtensionRefusesMistakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.extend("a", answering("a", success("", 0)))
	response := &clusterapi.BeforeClusterCreateResponse{}
	for _, test := range []struct {
		name, reason string
		hook         catalog.Hook
		handler      string
		request      hooksv1.RequestObject
		response     hooksv1.ResponseObject
		want         string
	}{
		{"unknown handler", "a name that is wrong is a mistake of the caller", clusterapi.BeforeClusterCreate, "b.a",
			request(nil), response, `no extension has a handler "b.a"`},
		{"other hook", "a handler answers only calls of its own hook", clusterapi.BeforeClusterDelete, "a.a",
			&clusterapi.BeforeClusterDeleteRequest{}, &clusterapi.BeforeClusterDeleteResponse{}, "implements hook"},
		{"other request", "the request and the response must have the types of the hook",
			clusterapi.BeforeClusterCreate, "a.a", &clusterapi.BeforeClusterDeleteRequest{}, response,
			"the request of hook"},
		{"other response", "the request and the response must have the types of the hook",
			clusterapi.BeforeClusterCreate, "a.a", request(nil), &clusterapi.BeforeClusterDeleteResponse{},
			"the response of hook"},
		{"unknown hook", "only hooks of the catalog can be called", newWorld, "a.a", request(nil), response, "no hook for function"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := w.client.CallExtension(t.Context(), test.hook, cluster, test.handler, test.request, test.response)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v lacks %q (%s)", err, test.want, test.reason)
			}
		})
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	calls := 0
	config := w.extend("a", beforeCreate("a", func(_ context.Context, r *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		response.CommonRetryResponse = success(fmt.Sprint("answer ", calls), 0)
		if r.Settings["block"] != "" {
			response.RetryAfterSeconds = 1
		}
	}))
	cache := hookclient.NewResponseCache(10, time.Hour)
	for _, step := range []struct {
		reason   string
		settings map[string]string
		change   func()
		want     string
	}{
		{reason: "the first request is sent", want: "answer 1"},
		{reason: "the same request is answered from the cache", want: "answer 1"},
		{reason: "another request is sent", settings: map[string]string{"x": "y"}, want: "answer 2"},
		{reason: "a response that blocks isn't kept", settings: map[string]string{"block": "yes"}, want: "answer 3"},
		{reason: "a response that blocks wasn't kept", settings: map[string]string{"block": "yes"}, want: "answer 4"},
		{reason: "a change of the ExtensionConfig makes its cached responses invalid", want: "answer 5", change: func() {
			config.ResourceVersion = "2"
			if err := w.registry.Add(config); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		if step.change != nil {
			step.change()
		}
		response := &clusterapi.BeforeClusterCreateResponse{}
		err := w.client.CallExtension(t.Context(), clusterapi.BeforeClusterCreate, cluster, "a.a", request(step.settings), response, hookclient.WithCache(cache))
		if err != nil || response.Message != step.want {
			t.Fatalf("answered %q, not %q: %v (%s)", response.Message, step.want, err, step.reason)
		}
	}
}

func TestNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cold, err := hookclient.New(hookclient.Options{Catalog: w.catalog, Registry: hookregistry.New(), Connector: nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cold.GetAllExtensions(t.Context(), clusterapi.BeforeClusterCreate, cluster); !errors.Is(err, hookregistry.ErrNotReady) {
		t.Errorf("a cold registry: %v", err)
	}
}

// TestNoRegistry checks a client without a registry, which can only call Discover. The error of each other method must
// name the missing option.
func TestNoRegistry(t *testing.T) {
	t.Parallel()
	only, err := hookclient.New(hookclient.Options{Catalog: newWorld(t).catalog, Connector: nowhere{}})
	if err != nil {
		t.Fatal(err)
	}
	request, response := &clusterapi.BeforeClusterCreateRequest{}, &clusterapi.BeforeClusterCreateResponse{}
	for name, call := range map[string]func() error{
		"GetAllExtensions": func() error {
			_, err := only.GetAllExtensions(t.Context(), clusterapi.BeforeClusterCreate, cluster)
			return err
		},
		"CallAll": func() error {
			return only.CallAll(t.Context(), clusterapi.BeforeClusterCreate, cluster, request, response)
		},
		"CallExtension": func() error {
			return only.CallExtension(t.Context(), clusterapi.BeforeClusterCreate, cluster, "a.a", request, response)
		},
		"Do": func() error {
			_, err := only.Do(t.Context(), hookclient.Call{Hook: "BeforeClusterCreate"})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "set Options.Registry") {
			t.Errorf("%s of a client without a registry: %v", name, err)
		}
	}
}

type nowhere struct{}

func (nowhere) Connect(runtimev1.ClientConfig) (hookclient.Connection, error) {
	return hookclient.Connection{}, errors.New("nowhere")
}

// newerHooks has a newer version of the hook BeforeClusterCreate. The extensions of these tests implement
// the older version.

var v1alpha2 = schema.GroupVersion{Group: hooksv1.Group, Version: "v1alpha2"}

type newerHooks struct{}

func (newerHooks) BeforeClusterCreate(*newerRequest, *newerResponse) {}

type newerRequest struct {
	metav1.TypeMeta       `json:",inline"`
	hooksv1.CommonRequest `json:",inline"`
	ClusterName           string `json:"clusterName"`
}

type newerResponse struct {
	metav1.TypeMeta             `json:",inline"`
	hooksv1.CommonRetryResponse `json:",inline"`
	Class                       string `json:"class"`
}

func (r *newerRequest) DeepCopyObject() runtime.Object  { c := *r; return &c }
func (r *newerResponse) DeepCopyObject() runtime.Object { c := *r; return &c }

func TestOlderVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sent := make(chan *clusterapi.BeforeClusterCreateRequest, 1)
	w.extend("a", beforeCreate("a", func(_ context.Context, r *clusterapi.BeforeClusterCreateRequest, response *clusterapi.BeforeClusterCreateResponse) {
		sent <- r
		response.CommonRetryResponse = success("old answer", 7)
	}))
	if err := w.catalog.Register(v1alpha2, catalog.Define(newerHooks{}.BeforeClusterCreate, catalog.Metadata{})); err != nil {
		t.Fatal(err)
	}
	hook := catalog.GroupHook{Group: hooksv1.Group, Hook: "BeforeClusterCreate"}
	response := &newerResponse{}
	call := func() error {
		return w.client.CallAll(t.Context(), newerHooks{}.BeforeClusterCreate, cluster, &newerRequest{ClusterName: "c"}, response)
	}
	if err := call(); err == nil || !strings.Contains(err.Error(), "no conversion") {
		t.Errorf("a version that doesn't convert was called: %v", err)
	}
	if err := w.catalog.AddConversions(hook,
		catalog.Convert(func(in *newerRequest, out *clusterapi.BeforeClusterCreateRequest) error {
			raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": in.ClusterName}})
			out.Cluster.Raw, out.Settings = raw, in.Settings
			return err
		}),
		catalog.Convert(func(in *clusterapi.BeforeClusterCreateResponse, out *newerResponse) error {
			out.CommonRetryResponse, out.Class = in.CommonRetryResponse, "default"
			return nil
		}),
	); err != nil {
		t.Fatal(err)
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	got := <-sent
	if got.APIVersion != "hooks.runtime.cluster.x-k8s.io/v1alpha1" || string(got.Cluster.Raw) != `{"metadata":{"name":"c"}}` {
		t.Errorf("the handler got %s with %s", got.APIVersion, got.Cluster.Raw)
	}
	if response.Message != "old answer" || response.RetryAfterSeconds != 7 {
		t.Errorf("the response is %+v", response)
	}
}
