package miniapi

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capicatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	capihooks "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	capiruntime "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	runtimeserver "sigs.k8s.io/cluster-api/exp/runtime/server"
	runtimeclient "sigs.k8s.io/cluster-api/internal/runtime/client"
	runtimeregistry "sigs.k8s.io/cluster-api/internal/runtime/registry"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookregistry"
)

func ours(t *testing.T) *catalog.Catalog {
	t.Helper()
	c := catalog.New()
	if err := clusterapi.AddToCatalog(c); err != nil {
		t.Fatal(err)
	}
	return c
}

func theirs(t *testing.T) *capicatalog.Catalog {
	t.Helper()
	c := capicatalog.New()
	if err := capihooks.AddToCatalog(c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCatalogs compares the hooks of Cluster API's catalog and of miniapi's catalog: their names, paths and types, and
// whether they are singletons or deprecated.
func TestCatalogs(t *testing.T) {
	t.Parallel()
	type hook struct {
		Path, Request, Response string
		Singleton, Deprecated   bool
	}
	want, got := map[string]hook{}, map[string]hook{}
	for gvh, d := range theirs(t).AllKnownHooks() {
		want[gvh.Hook] = hook{capicatalog.GVHToPath(gvh, "Name"), d.Request.String(), d.Response.String(), d.Metadata.Singleton, d.Metadata.Deprecated}
	}
	for _, d := range ours(t).Hooks() {
		got[d.Hook] = hook{d.Path("Name"), d.Request.String(), d.Response.String(), d.Singleton, d.Deprecated}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hooks (-Cluster API's +ours): %s", diff)
	}
}

// TestFields fills each request type and response type of Cluster API's hooks with values, and decodes its JSON into
// miniapi's type for the same hook. The JSON of miniapi's type must have all of these values.
func TestFields(t *testing.T) {
	t.Parallel()
	their, our := theirs(t), ours(t)
	for gvh := range their.AllKnownHooks() {
		d := our.Hook(catalog.GroupVersionHook{Group: gvh.Group, Version: gvh.Version, Hook: gvh.Hook})
		request, err := their.NewRequest(gvh)
		if err != nil {
			t.Fatal(err)
		}
		response, err := their.NewResponse(gvh)
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range []struct{ their, our runtime.Object }{{request, d.NewRequest()}, {response, d.NewResponse()}} {
			t.Run(fmt.Sprintf("%T", pair.their), func(t *testing.T) {
				t.Parallel()
				fill(reflect.ValueOf(pair.their).Elem(), 0)
				want := marshal(t, pair.their)
				if err := json.Unmarshal(want, pair.our); err != nil {
					t.Fatal(err)
				}
				var wantTree, gotTree any
				if err := json.Unmarshal(want, &wantTree); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(marshal(t, pair.our), &gotTree); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(wantTree, gotTree); diff != "" {
					t.Errorf("(-Cluster API's +ours): %s", diff)
				}
			})
		}
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// maxDepth is the depth below which fill sets no fields. Some types, such as schemas, contain themselves.
const maxDepth = 6

// fill sets all fields to values that aren't zero, down to maxDepth.
func fill(v reflect.Value, depth int) {
	if depth > maxDepth {
		return
	}
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Unix(1700000000, 0)))
		return
	case runtime.RawExtension:
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte(`{"kind":"Thing"}`)}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.CanSet() {
				v.SetBytes([]byte(`"x"`))
			}
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				fill(f, depth+1)
			}
		}
	}
}

const blocks = 30

// TestOurCallerTheirExtension builds an extension with Cluster API's server package, and discovers and calls it with
// miniapi's client.
func TestOurCallerTheirExtension(t *testing.T) {
	t.Parallel()
	certificate, port := serving(t), freePort(t)
	server, err := runtimeserver.New(runtimeserver.Options{Catalog: theirs(t), Host: "127.0.0.1", Port: port, CertDir: certificate.dir})
	if err != nil {
		t.Fatal(err)
	}
	ignore, seconds := capihooks.FailurePolicyIgnore, int32(5)
	if err := server.AddExtensionHandler(runtimeserver.ExtensionHandler{
		Hook: capihooks.BeforeClusterCreate, Name: "quota", TimeoutSeconds: &seconds,
		HandlerFunc: func(_ context.Context, request *capihooks.BeforeClusterCreateRequest, response *capihooks.BeforeClusterCreateResponse) {
			response.SetStatus(capihooks.ResponseStatusSuccess)
			response.SetMessage(fmt.Sprintf("%s %s in %s", request.Kind, request.Cluster.Name, request.Settings["region"]))
			response.SetRetryAfterSeconds(blocks)
		},
	}); err != nil {
		t.Fatal(err)
	}
	if err := server.AddExtensionHandler(runtimeserver.ExtensionHandler{
		Hook: capihooks.GeneratePatches, Name: "patches", FailurePolicy: &ignore,
		HandlerFunc: func(_ context.Context, request *capihooks.GeneratePatchesRequest, response *capihooks.GeneratePatchesResponse) {
			response.SetStatus(capihooks.ResponseStatusSuccess)
			for _, item := range request.Items {
				response.Items = append(response.Items, capihooks.GeneratePatchesResponseItem{UID: item.UID, PatchType: capihooks.JSONPatchType, Patch: item.Variables[0].Value.Raw})
			}
		},
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})

	connector, err := hookclient.NewHTTPSConnector(hookclient.ConnectorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connector.Close)
	handlers := hookregistry.New()
	caller, err := hookclient.New(hookclient.Options{Catalog: ours(t), Registry: handlers, Connector: connector})
	if err != nil {
		t.Fatal(err)
	}
	config := runtimev1.ExtensionConfig{}
	config.Name = "theirs"
	config.Spec.ClientConfig = runtimev1.ClientConfig{URL: fmt.Sprintf("https://127.0.0.1:%d", port), CABundle: certificate.pem}
	config.Spec.Settings = map[string]string{"region": "eu"}
	await(t, func() (err error) {
		config.Status.Handlers, err = caller.Discover(t.Context(), &config)
		return err
	})
	reference := func(hook string) runtimev1.GroupVersionHook {
		return runtimev1.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: hook}
	}
	if diff := cmp.Diff([]runtimev1.ExtensionHandler{
		{Name: "patches.theirs", RequestHook: reference("GeneratePatches"), TimeoutSeconds: 10, FailurePolicy: "Ignore"},
		{Name: "quota.theirs", RequestHook: reference("BeforeClusterCreate"), TimeoutSeconds: 5, FailurePolicy: "Fail"},
	}, config.Status.Handlers); diff != "" {
		t.Errorf("handlers (-want +got): %s", diff)
	}
	if err := handlers.WarmUp([]runtimev1.ExtensionConfig{config}); err != nil {
		t.Fatal(err)
	}
	object := &metav1.ObjectMeta{Namespace: "default", Name: "c"}
	create := &clusterapi.BeforeClusterCreateResponse{}
	if err := caller.CallAll(t.Context(), clusterapi.BeforeClusterCreate, object, &clusterapi.BeforeClusterCreateRequest{
		Cluster: runtime.RawExtension{Object: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "c"}}},
	}, create); err != nil {
		t.Fatal(err)
	}
	if create.Message != "BeforeClusterCreateRequest c in eu" || create.RetryAfterSeconds != blocks {
		t.Errorf("the answer is %+v", create)
	}
	patches := &clusterapi.GeneratePatchesResponse{}
	if err := caller.CallExtension(t.Context(), clusterapi.GeneratePatches, object, "patches.theirs", &clusterapi.GeneratePatchesRequest{
		Items: []clusterapi.GeneratePatchesRequestItem{{
			UID: "1", Object: runtime.RawExtension{Raw: []byte(`{}`)},
			Variables: []clusterapi.Variable{{Name: "v", Value: clusterapi.JSON{Raw: []byte(`[1]`)}}},
		}},
	}, patches); err != nil {
		t.Fatal(err)
	}
	if len(patches.Items) != 1 || patches.Items[0].UID != "1" || string(patches.Items[0].Patch) != `[1]` {
		t.Errorf("patches are %+v", patches.Items)
	}
}

// freePort returns a port on which nothing listens. Cluster API's server needs the number before it listens. The port
// isn't in the range from which the system chooses ports, so the system gives the port to no other listener in the
// meantime.
func freePort(t *testing.T) int {
	t.Helper()
	const from, to = 20000, 32768
	var last error
	for range 100 {
		port := from + rand.IntN(to-from)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			err = listener.Close()
		}
		if err == nil {
			return port
		}
		last = err
	}
	t.Fatal(last)
	return 0
}

// TestTheirCallerOurExtension builds an extension with miniapi's server package, and discovers and calls it with
// Cluster API's client.
func TestTheirCallerOurExtension(t *testing.T) {
	t.Parallel()
	e, err := extension.New(extension.Options{Catalog: ours(t)},
		extension.Of(clusterapi.BeforeClusterUpgrade, "check", func(_ context.Context, request *clusterapi.BeforeClusterUpgradeRequest, response *clusterapi.BeforeClusterUpgradeResponse) {
			var cluster clusterv1.Cluster
			if err := json.Unmarshal(request.Cluster.Raw, &cluster); err != nil {
				response.Status, response.Message = hooksv1.ResponseStatusFailure, err.Error()
				return
			}
			response.Status, response.RetryAfterSeconds = hooksv1.ResponseStatusSuccess, blocks
			response.Message = fmt.Sprintf("%s to %s in %s", cluster.Name, request.ToKubernetesVersion, request.Settings["region"])
		}, extension.Timeout(7*time.Second)),
		extension.Of(clusterapi.AfterClusterUpgrade, "refuse", func(_ context.Context, _ *clusterapi.AfterClusterUpgradeRequest, response *clusterapi.AfterClusterUpgradeResponse) {
			response.Status, response.Message = hooksv1.ResponseStatusFailure, "not yet"
		}, extension.FailurePolicy(hooksv1.FailurePolicyIgnore)),
		extension.Of(clusterapi.BeforeClusterDelete, "panic", func(context.Context, *clusterapi.BeforeClusterDeleteRequest, *clusterapi.BeforeClusterDeleteResponse) {
			panic("out of quota")
		}, extension.FailurePolicy(hooksv1.FailurePolicyIgnore)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(e)
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, capiruntime.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	caller, _, err := runtimeclient.New(t.Context(), runtimeclient.Options{
		Catalog: theirs(t), Registry: runtimeregistry.New(), Client: fake.NewClientBuilder().WithScheme(scheme).Build(),
	})
	if err != nil {
		t.Fatal(err)
	}
	config := &capiruntime.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: "ours"}}
	config.Spec.ClientConfig = capiruntime.ClientConfig{URL: server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	config.Spec.NamespaceSelector = &metav1.LabelSelector{}
	config.Spec.Settings = map[string]string{"region": "eu"}
	if config, err = caller.Discover(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	reference := func(hook string) capiruntime.GroupVersionHook {
		return capiruntime.GroupVersionHook{APIVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", Hook: hook}
	}
	if diff := cmp.Diff([]capiruntime.ExtensionHandler{
		{Name: "check.ours", RequestHook: reference("BeforeClusterUpgrade"), TimeoutSeconds: 7, FailurePolicy: "Fail"},
		{Name: "refuse.ours", RequestHook: reference("AfterClusterUpgrade"), TimeoutSeconds: 10, FailurePolicy: "Ignore"},
		{Name: "panic.ours", RequestHook: reference("BeforeClusterDelete"), TimeoutSeconds: 10, FailurePolicy: "Ignore"},
	}, config.Status.Handlers); diff != "" {
		t.Errorf("handlers (-want +got): %s", diff)
	}
	if err := caller.WarmUp(&capiruntime.ExtensionConfigList{Items: []capiruntime.ExtensionConfig{*config}}); err != nil {
		t.Fatal(err)
	}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	upgrade := &capihooks.BeforeClusterUpgradeResponse{}
	if err := caller.CallAllExtensions(t.Context(), capihooks.BeforeClusterUpgrade, cluster, &capihooks.BeforeClusterUpgradeRequest{
		Cluster: *cluster, FromKubernetesVersion: "v1.36.0", ToKubernetesVersion: "v1.37.2",
	}, upgrade); err != nil {
		t.Fatal(err)
	}
	if upgrade.Message != "c to v1.37.2 in eu" || upgrade.RetryAfterSeconds != blocks {
		t.Errorf("the answer is %+v", upgrade)
	}
	if err := caller.CallAllExtensions(t.Context(), capihooks.AfterClusterUpgrade, cluster, &capihooks.AfterClusterUpgradeRequest{Cluster: *cluster}, &capihooks.AfterClusterUpgradeResponse{}); err == nil {
		t.Error("a Failure that is answered was ignored")
	}
	if err := caller.CallAllExtensions(t.Context(), capihooks.BeforeClusterDelete, cluster, &capihooks.BeforeClusterDeleteRequest{Cluster: *cluster}, &capihooks.BeforeClusterDeleteResponse{}); err != nil {
		t.Errorf("a panic under the policy Ignore: %v", err)
	}
}

// await repeats try until it returns nil, for a minute at most. Cluster API's server gives no signal when it listens.
func await(t *testing.T, try func() error) {
	t.Helper()
	deadline, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.Done():
			t.Fatal(err)
		}
	}
}

// files has the folder of a serving certificate for 127.0.0.1 and its key, and the certificate in PEM.
type files struct {
	dir string
	pem []byte
}

// serving writes the certificate of net/http/httptest, which is valid for 127.0.0.1, and its key to files.
func serving(t *testing.T) files {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	key, certificate := keyOf(t, server)
	f := files{dir: t.TempDir(), pem: certificate}
	for name, data := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(f.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func keyOf(t *testing.T, server *httptest.Server) (key, certificate []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
