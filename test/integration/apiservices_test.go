package integration_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

const apiRegistration = "apiregistration.k8s.io/v1"

func apiServices(srv *miniapitest.Server) []string {
	list, err := clusterResources(srv, apiRegistration, "apiservices").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}

// Every group version in discovery has an available APIService, except for the group of APIServices itself.
func TestAPIServicesOfTheServer(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	define(t, srv, "gears", "Gear", "v1")
	client := must(discovery.NewDiscoveryClientForConfig(srv.Config()))(t)
	check := func(reason string) error {
		t.Helper()
		groups := must(client.ServerGroups())(t)
		var want []string
		for _, g := range groups.Groups {
			for _, v := range g.Versions {
				if g.Name != "apiregistration.k8s.io" {
					want = append(want, v.Version+"."+g.Name)
				}
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, apiServices(srv)); diff != "" {
			return fmt.Errorf("%s: -want +got\n%s", reason, diff)
		}
		return nil
	}
	expect := func(reason string) {
		t.Helper()
		ok(t, check(reason))
	}
	initial := must(srv.Snapshot())(t)

	expect("a definition from before the first read of APIServices")
	define(t, srv, "wheels", "Wheel", "v1", "v2")
	expect("a new version")
	definitions := clusterResources(srv, "apiextensions.k8s.io/v1", "customresourcedefinitions")
	ok(t, definitions.Delete(t.Context(), "wheels.example.com", metav1.DeleteOptions{}))
	// The server deletes the APIService after the response to the deletion of the custom resource definition, so the
	// test waits.
	eventually(t, func(context.Context) error {
		if slices.Contains(apiServices(srv), "v2.example.com") {
			return errors.New("the APIService v2.example.com still exists")
		}
		return check("no server has the version now")
	})
	ok(t, clusterResources(srv, apiRegistration, "apiservices").Delete(t.Context(), "v1.apps", metav1.DeleteOptions{}))
	expect("the server creates a deleted APIService again")
	ok(t, srv.Restore(initial))
	expect("a restored state from before the first read of APIServices")

	apps := must(clusterResources(srv, apiRegistration, "apiservices").Get(t.Context(), "v1.apps", metav1.GetOptions{}))(t)
	if label := apps.GetLabels()["kube-aggregator.kubernetes.io/automanaged"]; label != "onstart" {
		t.Errorf("automanaged is %q", label)
	}
	conditions := must(json.Marshal(fieldOf(apps, "status", "conditions")))(t)
	for _, part := range []string{`"status":"True"`, `"reason":"Local"`} {
		if !strings.Contains(string(conditions), part) {
			t.Errorf("conditions are %s, without %s", conditions, part)
		}
	}
}

// The server restores a changed APIService of custom resources, unless the APIService lacks the server's label.
func TestEditedAPIServices(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	define(t, srv, "gears", "Gear", "v1")
	define(t, srv, "wheels", "Wheel", "v2")
	services := clusterResources(srv, apiRegistration, "apiservices")
	for _, test := range []struct {
		name, reason, service, patch string
		back                         bool
	}{
		{"priority", "the server restores an APIService of custom resources", "v1.example.com", `{"spec": {"versionPriority": 7}}`, true},
		{"service", "the server restores the APIService, and no other server gets requests for custom resources", "v1.example.com",
			`{"spec": {"versionPriority": 7, "service": {"namespace": "default", "name": "tools"}, "insecureSkipTLSVerify": true}}`, true},
		{"built in", "the server creates the APIService at its start, and doesn't restore it later", "v1.apps",
			`{"spec": {"versionPriority": 7}}`, false},
		{"no label", "the server doesn't restore an APIService without the label", "v2.example.com",
			`{"metadata": {"labels": {"kube-aggregator.kubernetes.io/automanaged": null}}, "spec": {"versionPriority": 7}}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := must(services.Get(t.Context(), test.service, metav1.GetOptions{}))(t)
			edited := must(services.Patch(t.Context(), test.service, types.MergePatchType, []byte(test.patch), metav1.PatchOptions{}))(t)
			want := edited
			if test.back {
				want = before
			}
			eventually(t, func(ctx context.Context) error {
				got, err := services.Get(ctx, test.service, metav1.GetOptions{})
				if err != nil {
					return err
				}
				if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
					return fmt.Errorf("spec of the APIService %s (-want +got):\n%s", test.service, diff)
				}
				return nil
			})
		})
	}
}

// /openapi/v2 has the paths of another server's API as long as there is an APIService for the API.
func TestAggregatedOpenAPIV2(t *testing.T) {
	t.Parallel()
	port := trusted.serve(t, &extension{}, "tools.default.svc")
	srv := miniapitest.Start(t, placed("default", "tools", 443, port))
	pathsOf := func() []string {
		var document struct{ Paths map[string]any }
		ok(t, json.Unmarshal(must(srv.Client().Discovery().RESTClient().Get().AbsPath("/openapi/v2").DoRaw(t.Context()))(t), &document))
		if document.Paths["/api/v1/pods"] == nil {
			t.Error("the document lacks the server's own pods")
		}
		return slices.DeleteFunc(slices.Sorted(maps.Keys(document.Paths)), func(path string) bool { return !strings.Contains(path, "example.com") })
	}
	services := clusterResources(srv, apiRegistration, "apiservices")
	for _, test := range []struct {
		name, reason string
		change       func()
		want         []string
	}{
		{"no other server", "the paths are those of the server itself", func() {}, nil},
		{
			"new server", "the request waits for a new server, whose other versions have no APIService",
			func() { must(services.Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t) },
			[]string{"/apis/tools.example.com/v1/", "/apis/tools.example.com/v1/namespaces/{namespace}/hammers"},
		},
		{"gone", "requests for the API aren't passed on any more",
			func() { ok(t, services.Delete(t.Context(), "v1.tools.example.com", metav1.DeleteOptions{})) }, nil},
	} {
		test.change()
		if diff := cmp.Diff(test.want, pathsOf(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.reason, diff)
		}
	}
}

// The server writes its APIServices without calling webhooks of users.
func TestAPIServicesOfTheServerAreNotReviewed(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	recorder := install(t, srv, validating("all", deny("no"), on("*", "*", "*/*")))
	if got := apiServices(srv); !slices.Contains(got, "v1.apps") {
		t.Errorf("there are %v", got)
	}
	if got := called(recorder); len(got) > 0 {
		t.Errorf("%v were asked", got)
	}
}

// extension is an API server for tools.example.com/v1 that records the users of requests.
type extension struct {
	mu    sync.Mutex
	users []string
	certs []*x509.Certificate
	query string
}

func (e *extension) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	const api = "/apis/tools.example.com/v1"
	w.Header().Set("Content-Type", "application/json")
	switch {
	case req.URL.Path == api:
		_, _ = fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "tools.example.com/v1", "resources": [
			{"name": "hammers", "singularName": "hammer", "namespaced": true, "kind": "Hammer", "verbs": ["get", "list"], "shortNames": ["ham"]}]}`)
	case req.URL.Path == "/openapi/v3"+api:
		_, _ = fmt.Fprint(w, `{"openapi": "3.0.0", "info": {"title": "tools", "version": "1"}, "paths": {}}`)
	case req.URL.Path == "/openapi/v2":
		_, _ = fmt.Fprint(w, `{"swagger": "2.0", "info": {"title": "tools", "version": "1"}, "paths": {
			"/apis/tools.example.com/v1/": {}, "/apis/tools.example.com/v1/namespaces/{namespace}/hammers": {}, "/apis/tools.example.com/v2/": {}, "/version/": {}}}`)
	case strings.HasPrefix(req.URL.Path, api+"/namespaces/default/hammers"):
		e.mu.Lock()
		defer e.mu.Unlock()
		e.users = append(e.users, fmt.Sprintf("%s of %v", req.Header.Get("X-Remote-User"), req.Header.Values("X-Remote-Group")))
		e.certs, e.query = req.TLS.PeerCertificates, req.URL.RawQuery
		_, _ = fmt.Fprint(w, `{"kind": "HammerList", "apiVersion": "tools.example.com/v1", "metadata": {}, "items": [
			{"kind": "Hammer", "apiVersion": "tools.example.com/v1", "metadata": {"name": "sledge", "namespace": "default"}}]}`)
	default:
		http.Error(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`, http.StatusNotFound)
	}
}

// toolsService returns an APIService that names a service, with the tests' authority as caBundle.
func toolsService(service string) *unstructured.Unstructured {
	return object(apiRegistration, "APIService", "v1.tools.example.com", map[string]any{"spec": map[string]any{
		"group": "tools.example.com", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(10),
		"service": map[string]any{"namespace": "default", "name": service}, "caBundle": base64.StdEncoding.EncodeToString(trusted.pem),
	}})
}

func availability(srv *miniapitest.Server) string {
	service, err := clusterResources(srv, apiRegistration, "apiservices").Get(context.Background(), "v1.tools.example.com", metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	conditions, _, err := unstructured.NestedSlice(service.Object, "status", "conditions")
	if err != nil || len(conditions) != 1 {
		return fmt.Sprintf("conditions %v, %v", conditions, err)
	}
	c := conditions[0].(map[string]any)
	return fmt.Sprint(c["type"], " ", c["status"], " ", c["reason"], ": ", c["message"])
}

func becomes(t *testing.T, srv *miniapitest.Server, want string) {
	t.Helper()
	becomesWithin(t, time.Minute, srv, want)
}

func becomesWithin(t *testing.T, limit time.Duration, srv *miniapitest.Server, want string) {
	t.Helper()
	within(t, limit, func(context.Context) error {
		if got := availability(srv); !strings.HasPrefix(got, want) {
			return fmt.Errorf("the APIService is %q, want %q", got, want)
		}
		return nil
	})
}

// The server passes requests for the API of another server to that server, with the name of the user. Discovery and
// OpenAPI documents have the other server's resources.
func TestAggregatedAPI(t *testing.T) {
	t.Parallel()
	tools := &extension{}
	port := trusted.serve(t, tools, "tools.default.svc")
	srv := miniapitest.Start(t, placed("default", "tools", 8443, port))
	services := clusterResources(srv, apiRegistration, "apiservices")
	service := toolsService("tools")
	ok(t, unstructured.SetNestedField(service.Object, int64(8443), "spec", "service", "port"))
	_, err := services.Create(t.Context(), service, metav1.CreateOptions{})
	ok(t, err)

	if got := discovered(t, srv, "tools.example.com"); got != "v1: hammers [ham] []" {
		t.Errorf("discovered is %q", got)
	}
	grant(t, srv, "alice", rbacRule("tools.example.com", "list", "hammers"))
	alice := srv.AddUser("alice", "carpenters")
	response := request(t, alice, http.MethodGet, "/apis/tools.example.com/v1/namespaces/default/hammers?labelSelector=big%3Dtrue", nil)
	if response.StatusCode != http.StatusOK {
		t.Errorf("alice is answered %s", response.Status)
	}
	spoofed := http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}}
	request(t, alice, http.MethodGet, "/apis/tools.example.com/v1/namespaces/default/hammers", spoofed)
	tools.mu.Lock()
	defer tools.mu.Unlock()
	if want := []string{"alice of [carpenters system:authenticated]"}; !cmp.Equal(slices.Compact(tools.users), want) {
		t.Errorf("%q have asked, want %q", tools.users, want)
	}
	trustsFrontProxy(t, srv, tools.certs)
	bob := srv.AddUser("bob")
	if response := request(t, bob, http.MethodGet, "/apis/tools.example.com/v1/namespaces/default/hammers", nil); response.StatusCode != http.StatusForbidden {
		t.Errorf("the response to bob, without a role, is %s", response.Status)
	}

	becomes(t, srv, "Available True Passed: all checks passed")
	paths := must(must(discovery.NewDiscoveryClientForConfig(srv.Config()))(t).OpenAPIV3().Paths())(t)
	if _, ok := paths["apis/tools.example.com/v1"]; !ok {
		t.Errorf("OpenAPI has %v", slices.Sorted(maps.Keys(paths)))
	}

	ok(t, services.Delete(t.Context(), "v1.tools.example.com", metav1.DeleteOptions{}))
	if got := discovered(t, srv, "tools.example.com"); got != "" {
		t.Errorf("after its deletion, discovered is %q", got)
	}
	if _, err := resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its deletion, the answer is %v", err)
	}
}

// trustsFrontProxy checks the ConfigMap from which extension servers read trusted authorities. For front proxies, the
// ConfigMap must have the authority of the first certificate, and the certificate's name. For users, it must not have
// that authority.
func trustsFrontProxy(t *testing.T, srv *miniapitest.Server, certificates []*x509.Certificate) {
	t.Helper()
	trust := must(srv.Client().CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{}))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(trust.Data["requestheader-client-ca-file"]))
	if len(certificates) == 0 {
		t.Fatal("the server has shown no certificate")
	}
	_, err := certificates[0].Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	ok(t, err)
	if name := certificates[0].Subject.CommonName; !strings.Contains(trust.Data["requestheader-allowed-names"], name) {
		t.Errorf("%q isn't one of %s", name, trust.Data["requestheader-allowed-names"])
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(trust.Data["client-ca-file"]))
	if _, err := certificates[0].Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err == nil {
		t.Error("a user with a client certificate could impersonate others")
	}
}

// If an APIService's server can't be reached, the status has the reason, and all other APIs work. As soon as the server
// can be reached, its API is served.
func TestUnavailableAPIService(t *testing.T) {
	t.Parallel()
	port, listen := reserve(t)
	srv := miniapitest.Start(t, placed("default", "tools", 443, port))
	services := clusterResources(srv, apiRegistration, "apiservices")
	_, err := services.Create(t.Context(), toolsService("absent"), metav1.CreateOptions{})
	ok(t, err)
	becomes(t, srv, `Available False ServiceNotFound: service/absent in "default" is not present`)

	patch := `{"spec": {"service": {"name": "tools"}}}`
	_, err = services.Patch(t.Context(), "v1.tools.example.com", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	ok(t, err)
	becomes(t, srv, "Available False FailedDiscoveryCheck: failing or missing response from https://127.0.0.1:")
	_, err = resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{})
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonServiceUnavailable || len(status.Status().Details.Causes) != 1 ||
		strings.TrimSpace(status.Status().Details.Causes[0].Message) != "service unavailable" {
		t.Errorf("the response is %v, want kube-apiserver's text", err)
	}
	if got := samples(t, srv, `code="503",component="aggregator",group="tools.example.com"`, "apiserver_request_terminations_total"); len(got) == 0 {
		t.Error("the request is missing from apiserver_request_terminations_total")
	}
	client := must(discovery.NewDiscoveryClientForConfig(srv.Config()))(t)
	_, lists, err := client.ServerGroupsAndResources()
	var failed *discovery.ErrGroupDiscoveryFailed
	if !errors.As(err, &failed) || len(failed.Groups) != 1 || failed.Groups[groupVersionOf("tools.example.com/v1")] == nil || len(lists) < 20 {
		t.Errorf("discovery of %d group versions fails with %v", len(lists), err)
	}

	trusted.serveOn(t, listen(), &extension{}, "tools.default.svc")
	hammers, err := resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{})
	ok(t, err)
	if len(hammers.Items) != 1 {
		t.Errorf("hammers are %v", hammers.Items)
	}
	becomes(t, srv, "Available True Passed")
	if got := discovered(t, srv, "tools.example.com"); got != "v1: hammers [ham] []" {
		t.Errorf("discovered is %q", got)
	}
}

// Other servers can read the authority of this server's certificate in a ConfigMap, even after a restore, or if a
// webhook refuses writes of ConfigMaps.
func TestFrontProxyStaysTrusted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		before       func(*testing.T, *miniapitest.Server)
	}{
		{"service of another name", "an APIService that never had a server ended before the certificate was needed", func(t *testing.T, srv *miniapitest.Server) {
			t.Helper()
			services := clusterResources(srv, apiRegistration, "apiservices")
			must(services.Create(t.Context(), toolsService("absent"), metav1.CreateOptions{}))(t)
			becomes(t, srv, "Available False ServiceNotFound")
			ok(t, services.Delete(t.Context(), "v1.tools.example.com", metav1.DeleteOptions{}))
		}},
		{"reset", "Reset restores the ConfigMap of the start", func(t *testing.T, srv *miniapitest.Server) {
			t.Helper()
			must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
			becomes(t, srv, "Available True")
			ok(t, srv.Reset())
		}},
		{"webhook denies", "webhooks don't review the server's own write of the trusted authorities", func(t *testing.T, srv *miniapitest.Server) {
			t.Helper()
			install(t, srv, validating("trust", always(miniapitest.Denied("no"))))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tools := &extension{}
			srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, tools, "tools.default.svc")))
			test.before(t, srv)
			must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
			must(resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{}))(t)
			tools.mu.Lock()
			defer tools.mu.Unlock()
			trustsFrontProxy(t, srv, tools.certs)
		})
	}
}

// The server shows a client certificate to other servers. A user can replace the file of the certificate and the file
// of its key one after the other. Until both files are replaced, the server uses the old certificate.
func TestFrontProxyFiles(t *testing.T) {
	t.Parallel()
	tools, dir := &extension{}, t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first, second := trusted.issue(t, "first"), trusted.issue(t, "second")
	ok(t, os.WriteFile(cert, first.cert, 0o600))
	ok(t, os.WriteFile(key, first.key, 0o600))
	srv := miniapitest.Start(t, placed("default", "tools", 443, trusted.serve(t, tools, "tools.default.svc")), inprocess.WithServerOptions(func(o *server.Options) {
		o.ProxyClientCertFile, o.ProxyClientKeyFile = cert, key
	}))
	services := clusterResources(srv, apiRegistration, "apiservices")
	must(services.Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	becomes(t, srv, "Available True")
	for _, step := range []struct {
		path    string
		content []byte
		want    string
	}{{cert, second.cert, "first"}, {key, second.key, "second"}} {
		ok(t, os.WriteFile(step.path, step.content, 0o600))
		// If the APIService has no condition Available, this server checks the other server at once.
		forgotten := []byte(`{"status": {"conditions": null}}`)
		must(services.Patch(t.Context(), "v1.tools.example.com", types.MergePatchType, forgotten, metav1.PatchOptions{}, "status"))(t)
		becomes(t, srv, "Available True")
		must(resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{}))(t)
		tools.mu.Lock()
		if got := tools.certs[0].Subject.CommonName; got != step.want {
			t.Errorf("after a change of %s the certificate is %q, want %q", filepath.Base(step.path), got, step.want)
		}
		tools.mu.Unlock()
	}
}

// A request for a path that doesn't belong to an API isn't passed to another server, and isn't authorized as a request
// for a resource.
func TestAggregatedAPIAtOtherPaths(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	port := trusted.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Remote-User") == "alice" {
			asked.Add(1)
		}
		(&extension{}).ServeHTTP(w, req)
	}), "tools.default.svc")
	srv := miniapitest.Start(t, placed("default", "tools", 443, port))
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	grant(t, srv, "alice", rbacRule("", "*", "*"))
	alice := srv.AddUser("alice")
	for _, test := range []struct {
		name, reason, path string
		want               int
	}{
		{"the API", "the user has no role for this API", "/apis/tools.example.com/v1/namespaces/default/hammers", http.StatusForbidden},
		{"two slashes", "the path has an empty group, and the user has every permission for the core group",
			"/apis//tools.example.com/v1/namespaces/default/hammers", http.StatusNotFound},
		{"three slashes", "the path has an empty group, and the user has every permission for the core group",
			"/apis///tools.example.com/v1/namespaces/default/hammers", http.StatusNotFound},
		{"no slash", "the path isn't below /apis", "/apistools.example.com/v1/namespaces/default/hammers", http.StatusForbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			if response := request(t, alice, http.MethodGet, test.path, nil); response.StatusCode != test.want {
				t.Errorf("GET %s is answered %s, want %d", test.path, response.Status, test.want)
			}
		})
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the other server was asked %d times for her", n)
	}
}

// A request to a server that never answers doesn't delay a stop.
func TestStopWithSilentAPIService(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	port := trusted.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/hammers") {
			close(asked)
			<-req.Context().Done()
			return
		}
		(&extension{}).ServeHTTP(w, req)
	}), "tools.default.svc")
	srv := miniapitest.Start(t, placed("default", "tools", 443, port), inprocess.WithServerOptions(func(o *server.Options) {
		o.ServerRun.RequestTimeout = time.Hour // with this timeout, only the behaviour under test ends the request
	}))
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	answer := make(chan error)
	go func() {
		_, err := resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{})
		answer <- err
	}()
	<-asked
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Stop() }()
	if err := <-answer; !apierrors.IsServiceUnavailable(err) {
		t.Errorf("the answer is %v", err)
	}
	ok(t, <-stopped)
}

// When the server stops, its connections to other servers end, in every state of a connection.
func TestStopClosesConnectionsToAPIServices(t *testing.T) {
	t.Parallel()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = listener.Close() }()
	srv := miniapitest.Start(t, placed("default", "tools", 443, listener.Addr().(*net.TCPAddr).Port))
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	go func() {
		_, _ = resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{})
	}()
	for _, what := range []string{"check", "request"} {
		conn := must(listener.Accept())(t) // the other server never answers the TLS handshake
		defer func() {
			// The client's timeout for a handshake is ten seconds, so the deadline must be earlier.
			ok(t, conn.SetReadDeadline(time.Now().Add(4*time.Second)))
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection of the %s is still open", what)
			}
			_ = conn.Close()
		}()
	}
	ok(t, srv.Stop())
}

// An upgraded connection, to any subresource, doesn't delay a stop.
func TestStopWithUpgradedAPIService(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, subresource string }{
		{"exec", "the library treats exec as a long-running request", "exec"},
		{"another", "the server waits for requests to other subresources, and this request doesn't end by itself", "dig"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			port := trusted.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if !strings.HasSuffix(req.URL.Path, "/"+test.subresource) {
					(&extension{}).ServeHTTP(w, req)
					return
				}
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				_, _ = io.Copy(conn, conn)
			}), "tools.default.svc")
			srv := miniapitest.Start(t, placed("default", "tools", 443, port), inprocess.WithServerOptions(func(o *server.Options) {
				o.ServerRun.RequestTimeout = time.Hour // with this timeout, only the behaviour under test ends the request
			}))
			must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
			config := srv.Config()
			config.NextProtos = []string{"http/1.1"}
			path := config.Host + "/apis/tools.example.com/v1/namespaces/default/hammers/sledge/" + test.subresource
			req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, path, http.NoBody))(t)
			req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}}
			// Closing the connection also closes the body.
			response := must(must(rest.HTTPClientFor(config))(t).Do(req))(t)
			conn, upgraded := response.Body.(io.ReadWriteCloser)
			if !upgraded {
				t.Fatalf("the answer is %s", response.Status)
			}
			defer func() { _ = conn.Close() }()
			_, err := fmt.Fprint(conn, "hello")
			ok(t, err)
			heard := make([]byte, len("hello"))
			must(io.ReadFull(conn, heard))(t)
			if string(heard) != "hello" {
				t.Errorf("the server has echoed %q", heard)
			}
			ok(t, srv.Stop())
		})
	}
}

// If both an APIService and custom resource definitions have a group version, requests go to the APIService's server,
// as long as the APIService exists.
func TestAggregatedAPIOfDefinitions(t *testing.T) {
	t.Parallel()
	port := trusted.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.URL.Path = strings.Replace(req.URL.Path, "/apis/example.com/", "/apis/tools.example.com/", 1)
		(&extension{}).ServeHTTP(w, req)
	}), "tools.default.svc")
	srv := miniapitest.Start(t, placed("default", "tools", 443, port))
	// resourcesOf returns the resources of example.com/v1 in discovery. The function define puts custom resources into
	// this group, so the test's APIService also has this group.
	resourcesOf := func() string {
		t.Helper()
		_, lists, err := must(discovery.NewDiscoveryClientForConfig(srv.Config()))(t).ServerGroupsAndResources()
		ok(t, err)
		var names []string
		for _, list := range lists {
			for _, r := range list.APIResources {
				if list.GroupVersion == "example.com/v1" {
					names = append(names, r.Name)
				}
			}
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	expect := func(reason, want string) {
		t.Helper()
		eventually(t, func(context.Context) error {
			if got := resourcesOf(); got != want {
				return fmt.Errorf("%s: discovered is %q, want %q", reason, got, want)
			}
			return nil
		})
	}
	services := clusterResources(srv, apiRegistration, "apiservices")
	service := toolsService("tools")
	service.SetName("v1.example.com")
	ok(t, unstructured.SetNestedField(service.Object, "example.com", "spec", "group"))
	must(services.Create(t.Context(), service, metav1.CreateOptions{}))(t)
	expect("no definition", "hammers")
	define(t, srv, "gears", "Gear", "v1")
	expect("a definition of the same version", "hammers")
	ok(t, services.Delete(t.Context(), "v1.example.com", metav1.DeleteOptions{}))
	expect("the definition has the version again", "gears")
	eventually(t, func(ctx context.Context) error {
		document, err := srv.Client().Discovery().RESTClient().Get().AbsPath("/openapi/v3/apis/example.com/v1").DoRaw(ctx)
		if err == nil && !strings.Contains(string(document), `"Gear"`) {
			err = fmt.Errorf("the OpenAPI document of example.com/v1 has no Gear: %s", document)
		}
		return err
	})
	if got := apiServices(srv); !slices.Contains(got, "v1.example.com") {
		t.Errorf("want an APIService of the definition's version again, got %v", got)
	}
}
