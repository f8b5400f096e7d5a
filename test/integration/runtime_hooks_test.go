package integration_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/definition"
	extensions "github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
)

// withHooks returns the option for a server with --runtime-hooks.
func withHooks(changes ...func(*hookcalls.Options)) miniapitest.Option {
	return inprocess.WithServerOptions(func(o *server.Options) {
		o.RuntimeHooks.Enabled = true
		for _, change := range changes {
			change(o.RuntimeHooks)
		}
	})
}

// extensionConfig returns an ExtensionConfig of v1beta2 with a spec in YAML.
func extensionConfig(t testing.TB, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	ok(t, yaml.Unmarshal([]byte(spec), &object.Object))
	object.Object = map[string]any{"spec": object.Object}
	object.SetAPIVersion("runtime.cluster.x-k8s.io/v1beta2")
	object.SetKind("ExtensionConfig")
	object.SetName(name)
	return object
}

// discovering returns an extension that answers Discovery, and has the handlers.
func discovering(t testing.TB, handlers ...extensions.Handler) http.Handler {
	t.Helper()
	c := catalog.New()
	ok(t, clusterapi.AddToCatalog(c))
	return must(extensions.New(extensions.Options{Catalog: c}, handlers...))(t)
}

// answers returns a handler of BeforeClusterCreate with a fixed response.
func answers(name, message string, retryAfterSeconds int32) extensions.Handler {
	return extensions.Of(clusterapi.BeforeClusterCreate, name, func(_ context.Context, _ *clusterapi.BeforeClusterCreateRequest, r *clusterapi.BeforeClusterCreateResponse) {
		r.Status, r.Message, r.RetryAfterSeconds = hooksv1.ResponseStatusSuccess, message, retryAfterSeconds
	})
}

// registerExtension creates an ExtensionConfig for an extension at a port of localhost.
func registerExtension(t testing.TB, srv *miniapitest.Server, name string, ca []byte, port int) *unstructured.Unstructured {
	t.Helper()
	config := extensionConfig(t, name, fmt.Sprintf(`{clientConfig: {url: "https://localhost:%d", caBundle: %s}}`, port, base64.StdEncoding.EncodeToString(ca)))
	return must(srv.DynamicClient().Resource(runtimev1.Resource()).Create(t.Context(), config, metav1.CreateOptions{}))(t)
}

func readConfig(ctx context.Context, srv *miniapitest.Server, name string) (*runtimev1.ExtensionConfig, error) {
	object, err := srv.DynamicClient().Resource(runtimev1.Resource()).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	config := &runtimev1.ExtensionConfig{}
	return config, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, config)
}

// callHook requests a call of a hook from the server.
func callHook(ctx context.Context, config *rest.Config, call hookclient.Call) (*hookclient.Result, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+hookcalls.CallPath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("call of hook %s: want HTTP status 200, got HTTP status %d", call.Hook, resp.StatusCode)
	}
	result := &hookclient.Result{}
	return result, json.NewDecoder(resp.Body).Decode(result)
}

var aCluster = json.RawMessage(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"namespace":"default","name":"c"}}`)

// awaitAnswers calls BeforeClusterCreate until the answers come from exactly these handlers, in this order.
func awaitAnswers(t testing.TB, srv *miniapitest.Server, handlers ...string) (result *hookclient.Result) {
	t.Helper()
	eventually(t, func(ctx context.Context) (err error) {
		if result, err = callHook(ctx, srv.Config(), hookclient.Call{Hook: "BeforeClusterCreate", Object: aCluster}); err != nil {
			return err
		}
		var got []string
		for _, answer := range result.Answers {
			got = append(got, answer.Handler)
		}
		if diff := cmp.Diff(handlers, got); diff != "" {
			return fmt.Errorf("handlers that answered BeforeClusterCreate (-want +got): %s", diff)
		}
		return nil
	})
	return result
}

// The server discovers an ExtensionConfig when it is created, and calls its handlers in their order. After the
// ExtensionConfig is deleted, the server doesn't call its handlers.
func TestRuntimeHooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	registerExtension(t, srv, "b", own.pem, own.serve(t, discovering(t, answers("quota", "second", 20), answers("names", "first", 0)), "localhost"))
	registerExtension(t, srv, "c", own.pem, own.serve(t, discovering(t, answers("quota", "third", 10)), "localhost"))
	config := awaitDiscovered(t, srv, "b", metav1.ConditionTrue, "")
	want := []runtimev1.ExtensionHandler{
		{Name: "names.b",
			RequestHook:    runtimev1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: "BeforeClusterCreate"},
			TimeoutSeconds: 10, FailurePolicy: "Fail"},
		{Name: "quota.b",
			RequestHook:    runtimev1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: "BeforeClusterCreate"},
			TimeoutSeconds: 10, FailurePolicy: "Fail"},
	}
	if diff := cmp.Diff(want, config.Status.Handlers); diff != "" {
		t.Errorf("handlers (-want +got): %s", diff)
	}
	if paused := meta.FindStatusCondition(config.Status.Conditions, runtimev1.PausedCondition); paused == nil || paused.Status != metav1.ConditionFalse {
		t.Errorf("condition Paused is %+v", paused)
	}
	result := awaitAnswers(t, srv, "names.b", "quota.b", "quota.c")
	if got, want := string(result.Response), `{"status":"Success","message":"first, second, third","retryAfterSeconds":10}`; got != want {
		t.Errorf("the response is %s, not %s", got, want)
	}
	ok(t, srv.DynamicClient().Resource(runtimev1.Resource()).Delete(t.Context(), "b", metav1.DeleteOptions{}))
	awaitAnswers(t, srv, "quota.c")
}

// A server without --runtime-hooks has no kind ExtensionConfig and no path for calls of hooks. It accepts a
// CustomResourceDefinition of ExtensionConfig like any other.
func TestWithoutRuntimeHooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, inprocess.WithServerOptions(func(*server.Options) {}))
	if _, err := readConfig(t.Context(), srv, "a"); !apierrors.IsNotFound(err) {
		t.Errorf("reading an ExtensionConfig: %v", err)
	}
	if _, err := callHook(t.Context(), srv.Config(), hookclient.Call{Hook: "BeforeClusterCreate"}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("calling a hook: %v", err)
	}
	object := &unstructured.Unstructured{}
	ok(t, yaml.Unmarshal(definition.YAML(), &object.Object))
	must(srv.DynamicClient().Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
		Create(t.Context(), object, metav1.CreateOptions{}))(t)
	must(srv.DynamicClient().Resource(runtimev1.Resource()).Create(t.Context(), extensionConfig(t, "a", `{clientConfig: {url: "https://a.example"}}`), metav1.CreateOptions{}))(t)
}

// A user needs permission to create ExtensionConfigs, and to request calls of hooks.
func TestCallsAreAuthorized(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	somebody := srv.AddUser("somebody")
	config := extensionConfig(t, "a", `{clientConfig: {url: "https://a.example"}}`)
	if _, err := must(dynamic.NewForConfig(somebody))(t).Resource(runtimev1.Resource()).Create(t.Context(), config, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without permission registers an extension: %v", err)
	}
	if _, err := callHook(t.Context(), somebody, hookclient.Call{Hook: "BeforeClusterCreate", Object: aCluster}); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("error is %v", err)
	}
	for _, call := range []hookclient.Call{{Hook: "Unknown"}, {Hook: "BeforeClusterCreate", Object: json.RawMessage(`{"kind":"Machine"}`)}, {Hook: "Discovery"}} {
		eventually(t, func(ctx context.Context) error {
			if _, err := callHook(ctx, srv.Config(), call); err == nil || !strings.Contains(err.Error(), "400") {
				return fmt.Errorf("call %+v: want an error with HTTP status 400, got %w", call, orNone(err))
			}
			return nil
		})
	}
}
