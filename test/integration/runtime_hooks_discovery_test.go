package integration_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
)

// awaitDiscovered waits until the condition Discovered of an ExtensionConfig has the object's generation, the status,
// and a message that contains the text.
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

// If the discovery of an extension fails, the condition has the reason, the server tries again, and the handlers of the
// last discovery stay.
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

// The server repeats the discovery of an extension after the period, even if the ExtensionConfig hasn't changed.
func TestDiscoveryIsPeriodic(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks(func(o *hookcalls.Options) { o.Period = 20 * time.Millisecond }))
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

// After a start with stored ExtensionConfigs, the server calls no hook before it has discovered all of them.
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
	if result, err := callHook(t.Context(), srv.Config(), hookclient.Call{Hook: "BeforeClusterCreate", Object: aCluster}); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a hook was called before all extensions were discovered: %+v, %v", result, err)
	}
	broken.Store(false)
	awaitAnswers(t, srv, "quota.a", "quota.b")
}

// The server doesn't discover the extension of a paused ExtensionConfig until the annotation is removed.
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
			err = fmt.Errorf("want the condition Paused of ExtensionConfig a to be true, got the conditions %+v", config.Status.Conditions)
		}
		return err
	})
	if n := asked.Load(); n > 0 {
		t.Errorf("a paused extension was asked %d times", n)
	}
	must(configs.Patch(t.Context(), "a", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, runtimev1.PausedAnnotation), metav1.PatchOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
}

// An annotation of an ExtensionConfig can name a Secret. The server then copies ca.crt of the Secret to the caBundle of
// the ExtensionConfig, and copies it again when the Secret changes.
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
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "must have the key ca.crt")
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
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "must be NAMESPACE/NAME of a Secret")
}

// If a handler is for a deprecated version of a hook, a condition of the ExtensionConfig reports the deprecation.
func TestDeprecatedHook(t *testing.T) {
	t.Parallel()
	add := func(c *catalog.Catalog) error {
		return c.Register(schema.GroupVersion{Group: "hooks.backup.example", Version: "v1alpha1"}, catalog.Define(oldHooks{}.BeforeClusterCreate, catalog.Metadata{Deprecated: true}))
	}
	srv := miniapitest.Start(t, withHooks(func(o *hookcalls.Options) { o.AddToCatalog = append(o.AddToCatalog, add) }))
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
