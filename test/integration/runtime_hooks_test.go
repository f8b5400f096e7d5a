package integration_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/client"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/definition"
	extensions "github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/runtimehooks"
)

// withHooks is --runtime-hooks.
func withHooks(changes ...func(*runtimehooks.Options)) miniapitest.Option {
	return inprocess.WithServerOptions(func(o *server.Options) {
		o.RuntimeHooks.Enabled = true
		for _, change := range changes {
			change(o.RuntimeHooks)
		}
	})
}

// extensionConfig is an ExtensionConfig of v1beta2, whose spec is YAML.
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

// discovering is an extension with handlers that all succeed.
func discovering(t testing.TB, handlers ...extensions.Handler) http.Handler {
	t.Helper()
	c := catalog.New()
	ok(t, clusterapi.AddToCatalog(c))
	return must(extensions.New(extensions.Options{Catalog: c}, handlers...))(t)
}

// answers makes a handler of BeforeClusterCreate.
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

// awaitDiscovered waits until the condition Discovered of an ExtensionConfig, for its generation, has a status and a message with a text.
func awaitDiscovered(t testing.TB, srv *miniapitest.Server, name string, status metav1.ConditionStatus, message string) (config *runtimev1.ExtensionConfig) {
	t.Helper()
	eventually(t, func(ctx context.Context) (err error) {
		if config, err = readConfig(ctx, srv, name); err != nil {
			return err
		}
		condition := meta.FindStatusCondition(config.Status.Conditions, runtimev1.DiscoveredCondition)
		if condition == nil || condition.Status != status || condition.ObservedGeneration != config.Generation || !strings.Contains(condition.Message, message) {
			return fmt.Errorf("condition Discovered of ExtensionConfig %q, generation %d, is %+v, not %s with %q", name, config.Generation, condition, status, message)
		}
		return nil
	})
	return config
}

// callHook calls a hook by the server.
func callHook(ctx context.Context, config *rest.Config, call client.Call) (*client.Result, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+runtimehooks.CallPath, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	result := &client.Result{}
	return result, json.NewDecoder(resp.Body).Decode(result)
}

var aCluster = json.RawMessage(`{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"namespace":"default","name":"c"}}`)

// awaitAnswers waits until BeforeClusterCreate for a cluster is answered by these handlers, in this order.
func awaitAnswers(t testing.TB, srv *miniapitest.Server, handlers ...string) (result *client.Result) {
	t.Helper()
	eventually(t, func(ctx context.Context) (err error) {
		if result, err = callHook(ctx, srv.Config(), client.Call{Hook: "BeforeClusterCreate", Object: aCluster}); err != nil {
			return err
		}
		var got []string
		for _, answer := range result.Answers {
			got = append(got, answer.Handler)
		}
		if diff := cmp.Diff(handlers, got); diff != "" {
			return fmt.Errorf("answers (-want +got): %s", diff)
		}
		return nil
	})
	return result
}

// An ExtensionConfig is discovered when it is created, its handlers are called in their order, and the handlers of a deleted
// one aren't called any more.
func TestRuntimeHooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	registerExtension(t, srv, "b", own.pem, own.serve(t, discovering(t, answers("quota", "second", 20), answers("names", "first", 0)), "localhost"))
	registerExtension(t, srv, "c", own.pem, own.serve(t, discovering(t, answers("quota", "third", 10)), "localhost"))
	config := awaitDiscovered(t, srv, "b", metav1.ConditionTrue, "")
	want := []runtimev1.ExtensionHandler{
		{Name: "names.b", RequestHook: runtimev1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: "BeforeClusterCreate"}, TimeoutSeconds: 10, FailurePolicy: "Fail"},
		{Name: "quota.b", RequestHook: runtimev1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: "BeforeClusterCreate"}, TimeoutSeconds: 10, FailurePolicy: "Fail"},
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

// A server without --runtime-hooks has neither the kind nor the path of calls, and takes Cluster API's definition as any
// other.
func TestWithoutRuntimeHooks(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, inprocess.WithServerOptions(func(*server.Options) {}))
	if _, err := readConfig(t.Context(), srv, "a"); !apierrors.IsNotFound(err) {
		t.Errorf("reading an ExtensionConfig: %v", err)
	}
	if _, err := callHook(t.Context(), srv.Config(), client.Call{Hook: "BeforeClusterCreate"}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("calling a hook: %v", err)
	}
	object := &unstructured.Unstructured{}
	ok(t, yaml.Unmarshal(definition.YAML(), &object.Object))
	must(srv.DynamicClient().Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
		Create(t.Context(), object, metav1.CreateOptions{}))(t)
	must(srv.DynamicClient().Resource(runtimev1.Resource()).Create(t.Context(), extensionConfig(t, "a", `{clientConfig: {url: "https://a.example"}}`), metav1.CreateOptions{}))(t)
}

// An extension that can't be discovered says so in its condition, is asked again, and keeps its earlier handlers.
func TestDiscoveryIsTriedAgain(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	var broken atomic.Bool
	broken.Store(true)
	working := discovering(t, answers("quota", "", 0))
	port := own.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if broken.Load() && strings.HasSuffix(req.URL.Path, "/discovery") {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		working.ServeHTTP(w, req)
	}), "localhost")
	config := registerExtension(t, srv, "a", own.pem, port)
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "HTTP status 503")
	broken.Store(false)
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	awaitAnswers(t, srv, "quota.a")
	broken.Store(true)
	ok(t, unstructured.SetNestedField(config.Object, map[string]any{"env": "test"}, "spec", "settings"))
	patch := []byte(`{"spec":{"settings":{"env":"test"}}}`)
	must(srv.DynamicClient().Resource(runtimev1.Resource()).Patch(t.Context(), "a", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	if got := awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "HTTP status 503"); len(got.Status.Handlers) != 1 {
		t.Errorf("the handlers of the last valid answer are gone: %+v", got.Status.Handlers)
	}
	awaitAnswers(t, srv, "quota.a")
}

// An extension is asked again after the period, without a change of its ExtensionConfig.
func TestDiscoveryIsPeriodic(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks(func(o *runtimehooks.Options) { o.Period = 20 * time.Millisecond }))
	own, err := newAuthority()
	ok(t, err)
	var current atomic.Pointer[http.Handler]
	first, second := discovering(t, answers("quota", "", 0)), discovering(t, answers("names", "", 0))
	current.Store(&first)
	registerExtension(t, srv, "a", own.pem, own.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { (*current.Load()).ServeHTTP(w, req) }), "localhost"))
	awaitAnswers(t, srv, "quota.a")
	current.Store(&second)
	awaitAnswers(t, srv, "names.a")
}

// A server that starts with ExtensionConfigs calls no hook before all of them are discovered.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := inprocess.WithServerOptions(func(o *server.Options) { o.DataDir = dir })
	own, err := newAuthority()
	ok(t, err)
	var broken atomic.Bool
	working := discovering(t, answers("quota", "", 0))
	breakable := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if broken.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		working.ServeHTTP(w, req)
	})
	srv := miniapitest.Start(t, withHooks(), kept)
	registerExtension(t, srv, "a", own.pem, own.serve(t, working, "localhost"))
	registerExtension(t, srv, "b", own.pem, own.serve(t, breakable, "localhost"))
	awaitAnswers(t, srv, "quota.a", "quota.b")
	ok(t, srv.Stop())

	broken.Store(true)
	srv = miniapitest.Start(t, withHooks(), kept)
	awaitDiscovered(t, srv, "b", metav1.ConditionFalse, "HTTP status 503")
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	if result, err := callHook(t.Context(), srv.Config(), client.Call{Hook: "BeforeClusterCreate", Object: aCluster}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a hook was called before all extensions were discovered: %+v, %v", result, err)
	}
	broken.Store(false)
	awaitAnswers(t, srv, "quota.a", "quota.b")
}

// A paused ExtensionConfig isn't discovered until the annotation is gone.
func TestPausedExtensionConfig(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	var asked atomic.Int32
	working := discovering(t, answers("quota", "", 0))
	port := own.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked.Add(1)
		working.ServeHTTP(w, req)
	}), "localhost")
	config := extensionConfig(t, "a", fmt.Sprintf(`{clientConfig: {url: "https://localhost:%d", caBundle: %s}}`, port, base64.StdEncoding.EncodeToString(own.pem)))
	config.SetAnnotations(map[string]string{runtimev1.PausedAnnotation: ""})
	configs := srv.DynamicClient().Resource(runtimev1.Resource())
	must(configs.Create(t.Context(), config, metav1.CreateOptions{}))(t)
	eventually(t, func(ctx context.Context) error {
		config, err := readConfig(ctx, srv, "a")
		if err == nil && !meta.IsStatusConditionTrue(config.Status.Conditions, runtimev1.PausedCondition) {
			err = fmt.Errorf("conditions are %+v", config.Status.Conditions)
		}
		return err
	})
	if n := asked.Load(); n > 0 {
		t.Errorf("a paused extension was asked %d times", n)
	}
	must(configs.Patch(t.Context(), "a", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, runtimev1.PausedAnnotation), metav1.PatchOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
}

// The caBundle follows ca.crt of the Secret that the annotation names.
func TestInjectedCA(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	other, err := newAuthority()
	ok(t, err)
	port := own.serve(t, discovering(t, answers("quota", "", 0)), "localhost")
	config := extensionConfig(t, "a", fmt.Sprintf(`{clientConfig: {url: "https://localhost:%d"}}`, port))
	config.SetAnnotations(map[string]string{runtimev1.InjectCAFromSecretAnnotation: "default/ca"})
	configs := srv.DynamicClient().Resource(runtimev1.Resource())
	must(configs.Create(t.Context(), config, metav1.CreateOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, `secrets "ca" not found`)

	secrets := srv.Client().CoreV1().Secrets("default")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Data: map[string][]byte{"tls.crt": own.pem}}
	secret = must(secrets.Create(t.Context(), secret, metav1.CreateOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "has no ca.crt")
	secret.Data = map[string][]byte{"ca.crt": other.pem}
	secret = must(secrets.Update(t.Context(), secret, metav1.UpdateOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "certificate")
	secret.Data["ca.crt"] = own.pem
	must(secrets.Update(t.Context(), secret, metav1.UpdateOptions{}))(t)
	got := awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	if !bytes.Equal(got.Spec.ClientConfig.CABundle, own.pem) {
		t.Errorf("the caBundle is %s", got.Spec.ClientConfig.CABundle)
	}
	awaitAnswers(t, srv, "quota.a")

	must(configs.Patch(t.Context(), "a", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"ca"}}}`, runtimev1.InjectCAFromSecretAnnotation), metav1.PatchOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "not of the form NAMESPACE/NAME")
}

// An extension is reached by its service as a webhook is: at the address of --webhook-service, or at the service's endpoints.
func TestExtensionOfService(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	var arrived arrivals
	port := own.serve(t, arrived.handler(discovering(t, answers("quota", "", 0))), "quota.default.svc")
	srv := miniapitest.Start(t, withHooks(), placed("default", "quota", 443, port))
	config := extensionConfig(t, "a", fmt.Sprintf(`{clientConfig: {service: {namespace: default, name: quota, path: /prefix}, caBundle: %s}}`, base64.StdEncoding.EncodeToString(own.pem)))
	created := must(srv.DynamicClient().Resource(runtimev1.Resource()).Create(t.Context(), config, metav1.CreateOptions{}))(t)
	if port, _, _ := unstructured.NestedInt64(created.Object, "spec", "clientConfig", "service", "port"); port != 443 {
		t.Errorf("the default port is %d", port)
	}
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "HTTP status 404") // the extension doesn't serve the prefix
	want := "SNI quota.default.svc, host quota.default.svc:443, path /prefix/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery"
	if got := arrived.list(); len(got) == 0 || got[0] != want {
		t.Errorf("requests are %q, not %q", got, want)
	}
	must(srv.DynamicClient().Resource(runtimev1.Resource()).Patch(t.Context(), "a", types.MergePatchType,
		[]byte(`{"spec":{"clientConfig":{"service":{"path":null}}}}`), metav1.PatchOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	awaitAnswers(t, srv, "quota.a")
}

// A handler of a deprecated hook version has a condition.
func TestDeprecatedHook(t *testing.T) {
	t.Parallel()
	add := func(c *catalog.Catalog) error {
		return c.Register(schema.GroupVersion{Group: "hooks.backup.example", Version: "v1alpha1"}, catalog.Define(oldHooks{}.BeforeClusterCreate, catalog.Metadata{Deprecated: true}))
	}
	srv := miniapitest.Start(t, withHooks(func(o *runtimehooks.Options) { o.AddToCatalog = append(o.AddToCatalog, add) }))
	own, err := newAuthority()
	ok(t, err)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"Success","handlers":[{"name":"old","requestHook":{"apiVersion":"hooks.backup.example/v1alpha1","hook":"BeforeClusterCreate"}}]}`)
	})
	registerExtension(t, srv, "a", own.pem, own.serve(t, handler, "localhost"))
	config := awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	condition := meta.FindStatusCondition(config.Status.Conditions, runtimev1.DeprecatedHooksCondition)
	if condition == nil || condition.Status != metav1.ConditionTrue || !strings.Contains(condition.Message, "old.a (hooks.backup.example/v1alpha1/BeforeClusterCreate)") {
		t.Errorf("the condition is %+v", condition)
	}
}

type oldHooks struct{}

func (oldHooks) BeforeClusterCreate(*clusterapi.BeforeClusterCreateRequest, *clusterapi.BeforeClusterCreateResponse) {
}

// Each version shows the same ExtensionConfig in its own form.
func TestExtensionConfigVersions(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	older := schema.GroupVersionResource{Group: "runtime.cluster.x-k8s.io", Version: "v1alpha1", Resource: "extensionconfigs"}
	config := extensionConfig(t, "a", `{clientConfig: {service: {namespace: ns, name: s}}}`)
	config.SetAPIVersion("runtime.cluster.x-k8s.io/v1alpha1")
	must(srv.DynamicClient().Resource(older).Create(t.Context(), config, metav1.CreateOptions{}))(t)
	got := awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "")
	if got.Spec.ClientConfig.Service.Name != "s" || got.Spec.NamespaceSelector == nil {
		t.Errorf("v1beta2 is %+v", got.Spec)
	}
	was := must(srv.DynamicClient().Resource(older).Get(t.Context(), "a", metav1.GetOptions{}))(t)
	legacy, _, _ := unstructured.NestedSlice(was.Object, "status", "conditions")
	conditions, _, _ := unstructured.NestedSlice(was.Object, "status", "v1beta2", "conditions")
	if len(legacy) != 1 || legacy[0].(map[string]any)["severity"] != "Error" || len(conditions) != 2 {
		t.Errorf("v1alpha1 has conditions %v and %v", legacy, conditions)
	}
	list := must(srv.DynamicClient().Resource(older).List(t.Context(), metav1.ListOptions{}))(t)
	if len(list.Items) != 1 || list.Items[0].GetAPIVersion() != "runtime.cluster.x-k8s.io/v1alpha1" {
		t.Errorf("the list has %v", list.Items)
	}
}

func TestExtensionConfigValidation(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	configs := srv.DynamicClient().Resource(runtimev1.Resource())
	for _, test := range []struct{ name, reason, config, spec, want string }{
		{name: "url", reason: "a prefix is allowed", spec: `{clientConfig: {url: "https://a.example:8443/prefix"}}`},
		{name: "service", reason: "the port has a default", spec: `{clientConfig: {service: {namespace: ns, name: s, path: /a/b.c/}}}`},
		{name: "selector", reason: "all operators are known", spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchLabels: {a.example/b: c}, matchExpressions: [{key: a, operator: In, values: [b]}, {key: a, operator: Exists}]}}`},
		{name: "no clientConfig", reason: "there is nothing to call", spec: `{settings: {a: b}}`, want: "spec.clientConfig: Required value"},
		{name: "neither", reason: "there is nothing to call", spec: `{clientConfig: {caBundle: YQ==}}`, want: "exactly one of url or service is required"},
		{name: "both", reason: "one would be ignored", spec: `{clientConfig: {url: "https://a", service: {namespace: ns, name: s}}}`, want: "exactly one of url or service is required"},
		{name: "http", reason: "extensions are called by HTTPS", spec: `{clientConfig: {url: "http://a"}}`, want: "'https' is the only allowed URL scheme"},
		{name: "no URL", reason: "the URL doesn't parse", spec: `{clientConfig: {url: "a.example"}}`, want: "must be a valid URL"},
		{name: "no host", reason: "there is nothing to dial", spec: `{clientConfig: {url: "https:///a"}}`, want: "host must be specified"},
		{name: "user", reason: "credentials don't belong into a URL", spec: `{clientConfig: {url: "https://a:b@c"}}`, want: "user information is not permitted"},
		{name: "fragment", reason: "a fragment isn't sent", spec: `{clientConfig: {url: "https://a/#b"}}`, want: "fragments are not permitted"},
		{name: "query", reason: "the query is the timeout", spec: `{clientConfig: {url: "https://a/?b=c"}}`, want: "query parameters are not permitted"},
		{name: "service without name", reason: "a service has two names", spec: `{clientConfig: {service: {namespace: ns}}}`, want: "spec.clientConfig.service.name: Required value"},
		{name: "service without namespace", reason: "a service has two names", spec: `{clientConfig: {service: {name: s}}}`, want: "spec.clientConfig.service.namespace: Required value"},
		{name: "service name", reason: "a service's name is a label", spec: `{clientConfig: {service: {namespace: ns, name: A_b}}}`, want: "spec.clientConfig.service.name: Invalid value"},
		{name: "port", reason: "ports end at 65535", spec: `{clientConfig: {service: {namespace: ns, name: s, port: 65536}}}`, want: "spec.clientConfig.service.port: Invalid value"},
		{name: "path", reason: "a path begins with a slash", spec: `{clientConfig: {service: {namespace: ns, name: s, path: a/}}}`, want: "must start with a '/'"},
		{name: "path segment", reason: "a segment is a subdomain", spec: `{clientConfig: {service: {namespace: ns, name: s, path: /A}}}`, want: "each segment must be a DNS subdomain"},
		{name: "empty segment", reason: "a segment is a subdomain", spec: `{clientConfig: {service: {namespace: ns, name: s, path: /a//b}}}`, want: "a segment may not be empty"},
		{name: "caBundle", reason: "bytes are in base64", spec: `{clientConfig: {url: "https://a", caBundle: "%"}}`, want: "spec.clientConfig.caBundle"},
		{name: "operator", reason: "there are four operators", spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchExpressions: [{key: a, operator: Near}]}}`, want: "Unsupported value"},
		{name: "values", reason: "In needs values", spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}`, want: "values are required"},
		{name: "no values", reason: "Exists takes no values", spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}`, want: "values are required"},
		{name: "label key", reason: "a key is a qualified name", spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchLabels: {"a b": c}}}`, want: "a key must be a label's"},
		{name: "label value", reason: "a value is a label's", spec: `{clientConfig: {url: "https://a"}, namespaceSelector: {matchLabels: {a: "b c"}}}`, want: "spec.namespaceSelector.matchLabels"},
		{name: "dots in the name", reason: "the name is the second part of a handler's", config: "a.b", spec: `{clientConfig: {url: "https://a"}}`, want: "metadata.name must be a DNS label"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			name := test.config
			if name == "" {
				name = "a"
			}
			_, err := configs.Create(t.Context(), extensionConfig(t, name, test.spec), metav1.CreateOptions{DryRun: dry})
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%v (%s)", err, test.reason)
			case test.want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v lacks %q (%s)", err, test.want, test.reason)
			}
		})
	}
}

func TestExtensionConfigIsShown(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	own, err := newAuthority()
	ok(t, err)
	registerExtension(t, srv, "a", own.pem, own.serve(t, discovering(t), "localhost"))
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	table := &metav1.Table{}
	raw := must(srv.Client().Discovery().RESTClient().Get().AbsPath("/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context()))(t)
	ok(t, json.Unmarshal(raw, table))
	var columns []string
	for _, column := range table.ColumnDefinitions {
		columns = append(columns, column.Name)
	}
	if diff := cmp.Diff([]string{"Name", "Discovered", "Paused", "Age"}, columns); diff != "" {
		t.Errorf("columns (-want +got): %s", diff)
	}
	if cells := table.Rows[0].Cells; cells[1] != "True" || cells[2] != "False" {
		t.Errorf("cells are %v", cells)
	}
	resources := must(srv.Client().Discovery().ServerResourcesForGroupVersion("runtime.cluster.x-k8s.io/v1beta2"))(t)
	for _, resource := range resources.APIResources {
		if resource.Name == "extensionconfigs" && (resource.Namespaced || strings.Join(resource.ShortNames, "") != "ext" || strings.Join(resource.Categories, "") != "cluster-api") {
			t.Errorf("the resource is %+v", resource)
		}
	}
}

// Only users who may post to the path of calls have the server call hooks.
func TestCallsAreAuthorized(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	if _, err := callHook(t.Context(), srv.AddUser("somebody"), client.Call{Hook: "BeforeClusterCreate", Object: aCluster}); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("error is %v", err)
	}
	for _, call := range []client.Call{{Hook: "Unknown"}, {Hook: "BeforeClusterCreate", Object: json.RawMessage(`{"kind":"Machine"}`)}, {Hook: "Discovery"}} {
		eventually(t, func(ctx context.Context) error {
			if _, err := callHook(ctx, srv.Config(), call); err == nil || !strings.Contains(err.Error(), "400") {
				return fmt.Errorf("%+v: %w", call, err)
			}
			return nil
		})
	}
}
