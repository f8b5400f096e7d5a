package integration_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// sessions are the HTTP methods of requests that open a session, such as exec. proxied are the HTTP methods of requests
// for a proxy.
var (
	sessions = []string{http.MethodGet, http.MethodPost}
	proxied  = []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
	}
)

// Every connection has a review with the operation CONNECT, whatever its HTTP method is. The object of the review has
// the options of the connection; oldObject and options are null. The pod, service or node needn't exist. The cases
// connect.* and every.* of the conformance suite test only the verbs of discovery. This test also has the methods HEAD
// and OPTIONS, and names with a scheme or a port.
func TestConnectIsReviewed(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	const refused = http.StatusTeapot
	recorder := install(t, srv, validating("validate", always(&admissionv1.AdmissionResponse{
		Result: &metav1.Status{Code: refused, Message: "no"},
	}), on("CONNECT", "v1", "*/*"), reviewVersions("v1beta1")), mutating("mutate", allow(), on("CONNECT", "v1", "*/*")))

	for _, tc := range []struct {
		name, reason, path string
		verbs              []string
		want               connection
		object             map[string]any
	}{
		{
			"exec", "the query is the command",
			"/api/v1/namespaces/default/pods/web/exec?command=ls&command=-l&container=main&stdin=true&stdout=true&tty=true",
			sessions, connection{"pods/exec", "PodExecOptions", "default", "web"},
			map[string]any{"command": []any{"ls", "-l"}, "container": "main", "stdin": true, "stdout": true, "tty": true},
		},
		{
			"attach", "the query says which streams", "/api/v1/namespaces/default/pods/web/attach?container=main&stdout=true",
			sessions, connection{"pods/attach", "PodAttachOptions", "default", "web"},
			map[string]any{"container": "main", "stdout": true},
		},
		{
			"portforward", "the query says which ports", "/api/v1/namespaces/default/pods/web/portforward?ports=80,8080",
			sessions, connection{"pods/portforward", "PodPortForwardOptions", "default", "web"},
			map[string]any{"ports": []any{80.0, 8080.0}},
		},
		{
			"pod proxy", "the request has no path after proxy", "/api/v1/namespaces/default/pods/web/proxy",
			proxied, connection{"pods/proxy", "PodProxyOptions", "default", "web"}, nil,
		},
		{
			"pod proxy with a path", "the path is an option, the port belongs to the name",
			"/api/v1/namespaces/default/pods/web:8080/proxy/a/b",
			proxied, connection{"pods/proxy", "PodProxyOptions", "default", "web:8080"}, map[string]any{"path": "/a/b"},
		},
		{
			"service proxy", "scheme and port belong to the name", "/api/v1/namespaces/default/services/https:web:443/proxy/healthz",
			proxied, connection{"services/proxy", "ServiceProxyOptions", "default", "https:web:443"}, map[string]any{"path": "/healthz"},
		},
		{
			"node proxy", "nodes have no namespace", "/api/v1/nodes/one/proxy/logs",
			proxied, connection{"nodes/proxy", "NodeProxyOptions", "", "one"}, map[string]any{"path": "/logs"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			object := map[string]any{"apiVersion": "v1", "kind": tc.want.Kind}
			maps.Copy(object, tc.object)
			for _, verb := range tc.verbs {
				recorder.Reset()
				response := request(t, srv.Config(), verb, tc.path, nil)
				if response.StatusCode != refused {
					t.Errorf("%s: want the webhook's answer %d, got %d", verb, refused, response.StatusCode)
				}
				if diff := cmp.Diff([]string{"mutate", "validate"}, called(recorder)); diff != "" {
					t.Fatalf("%s: calls (-want +got):\n%s", verb, diff)
				}
				for _, review := range recorder.Reviews() {
					r := review.Request
					got := connection{r.Resource.Resource + "/" + r.SubResource, r.Kind.Kind, r.Namespace, r.Name}
					if diff := cmp.Diff(tc.want, got); diff != "" || r.Operation != admissionv1.Connect {
						t.Errorf("%s, %s: %s (-want +got):\n%s", verb, tc.reason, r.Operation, diff)
					}
					sent, _ := sentAs(t, review, "object")
					if diff := cmp.Diff(any(object), sent); diff != "" {
						t.Errorf("%s, %s: the object (-want +got):\n%s", verb, tc.reason, diff)
					}
					for _, field := range []string{"oldObject", "options"} {
						if value, found := sentAs(t, review, field); !found || value != nil {
							t.Errorf("%s: want null as %s, got %v", verb, field, value)
						}
					}
				}
			}
		})
	}
}

// connection is the resource that a review names.
type connection struct{ Resource, Kind, Namespace, Name string }

// request sends a request without a body, for a path and its query, as the user of a client configuration.
func request(t testing.TB, config *rest.Config, verb, path string, header http.Header) *http.Response {
	t.Helper()
	config.NextProtos = []string{"http/1.1"} // a session needs HTTP/1.1
	client := must(rest.HTTPClientFor(config))(t)
	r := must(http.NewRequestWithContext(t.Context(), verb, config.Host+path, http.NoBody))(t)
	maps.Copy(r.Header, header)
	response := must(client.Do(r))(t)
	ok(t, response.Body.Close())
	return response
}

// The server makes a connection after admission, with the options that mutating webhooks have changed. The cases
// connect.* of the conformance suite make no connection, because some clusters have no kubelet.
func TestConnectGoesThroughTheChain(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	_, asked := standIn(t, srv)
	const exec = "/api/v1/namespaces/default/pods/web/exec?command=sh&container=main&stdout=true"

	t.Run("admitted", func(t *testing.T) {
		recorder := install(t, srv,
			mutating("first", patch(miniapitest.Replace("/command/0", "ls")), on("CONNECT", "v1", "pods/exec")),
			mutating("second", patch(miniapitest.Add("/command/-", "-l")), on("CONNECT", "v1", "pods/exec")),
			validating("validate", allow(), on("CONNECT", "v1", "pods/exec")))
		request(t, srv.Config(), http.MethodPost, exec, upgrade)

		if diff := cmp.Diff([]string{"first", "second", "validate"}, called(recorder)); diff != "" {
			t.Fatalf("calls (-want +got):\n%s", diff)
		}
		seen := decode[corev1.PodExecOptions](t, recorder.Reviews()[2].Request.Object.Raw).Command
		if diff := cmp.Diff([]string{"ls", "-l"}, seen); diff != "" {
			t.Errorf("the command that the validating webhook sees (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"/exec/default/web/main?command=ls&command=-l&output=1"}, asked()); diff != "" {
			t.Errorf("what the kubelet is asked for (-want +got):\n%s", diff)
		}
	})
	for _, refusing := range []hook{
		mutating("refuse", deny("no"), on("CONNECT", "v1", "pods/exec")),
		validating("refuse", deny("no"), on("CONNECT", "v1", "pods/exec")),
	} {
		t.Run("refused", func(t *testing.T) {
			install(t, srv, refusing)
			if response := request(t, srv.Config(), http.MethodPost, exec, upgrade); response.StatusCode != http.StatusForbidden {
				t.Errorf("want the webhook's refusal, got %d", response.StatusCode)
			}
			if got := asked(); got != nil {
				t.Errorf("the kubelet was asked for %v", got)
			}
		})
	}
}

// upgrade is the header of a request that upgrades its connection to SPDY, as for pods/exec.
var upgrade = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}

// Mutating webhooks and policies can change the options of every kind of connection.
func TestConnectOptionsAreMutated(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	port, asked := standIn(t, srv)
	const pods = "/api/v1/namespaces/default/pods/"
	for _, tc := range []struct {
		name, reason  string
		resource      string
		path          string
		header        http.Header
		as, by, using string // the operation, the path and the value of the JSON patch
		want          string
	}{
		{"exec", "another command is run", "pods/exec", pods + "web/exec?command=sh&container=main&stdout=true", upgrade,
			"replace", "/command/0", `"ls"`, "/exec/default/web/main?command=ls&output=1"},
		{"attach", "another container is attached to", "pods/attach", pods + "web/attach?container=main&stdout=true", upgrade,
			"replace", "/container", `"side"`, "/attach/default/web/side?output=1"},
		{"portforward", "another port is forwarded to", "pods/portforward", pods + "web/portforward?ports=80", upgrade,
			"replace", "/ports/0", "81", "/portForward/default/web?port=81"},
		{"pod proxy", "another path is asked for", "pods/proxy", fmt.Sprintf("%shttps:web:%d/proxy/a", pods, port), nil,
			"replace", "/path", `"/b"`, "/b"},
		{"service proxy", "another path is asked for", "services/proxy", "/api/v1/namespaces/default/services/https:web:443/proxy/a", nil,
			"replace", "/path", `"/b"`, "/b"},
		{"node proxy", "another path is asked for", "nodes/proxy", "/api/v1/nodes/node/proxy/a", nil,
			"replace", "/path", `"/b"`, "/b"},
		{"proxy without a path", "an option is added", "nodes/proxy", "/api/v1/nodes/node/proxy", nil,
			"add", "/path", `"/b"`, "/b"},
	} {
		onConnect := on("CONNECT", "v1", tc.resource)
		for _, by := range []struct {
			name   string
			mutate func(*testing.T)
		}{
			{"webhook", func(t *testing.T) {
				install(t, srv, mutating("mutate", patch(miniapitest.PatchOperation{Op: tc.as, Path: tc.by, Value: json.RawMessage(tc.using)}), onConnect))
			}},
			{"policy", func(t *testing.T) {
				mutate(t, srv, "mutate", admissionregistrationv1.MutatingAdmissionPolicySpec{
					MatchConstraints: matchResources("CONNECT", "v1", tc.resource),
					Mutations:        []admissionregistrationv1.Mutation{patches(fmt.Sprintf("[JSONPatch{op: %q, path: %q, value: %s}]", tc.as, tc.by, tc.using))},
				}, nil)
			}},
		} {
			t.Run(tc.name+" by a "+by.name, func(t *testing.T) {
				by.mutate(t)
				recorder := install(t, srv, validating("validate", allow(), onConnect))
				request(t, srv.Config(), http.MethodPost, tc.path, tc.header)
				if diff := cmp.Diff([]string{tc.want}, asked()); diff != "" {
					t.Errorf("%s: where the connection leads (-want +got):\n%s", tc.reason, diff)
				}
				if calls := called(recorder); len(calls) != 1 {
					t.Errorf("want one review, got %v", calls)
				}
			})
		}
	}
}

// standIn creates the node "node", and the pod and the service "web". All three lead to one HTTPS server, which records
// each request and refuses it. standIn returns the server's port. The function asked returns the paths of the requests
// since its last call.
func standIn(t testing.TB, srv *miniapitest.Server) (port int, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	backend := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.URL.RequestURI())
		http.Error(w, "no sessions here", http.StatusServiceUnavailable)
	}))
	t.Cleanup(backend.Close)
	host, text, err := net.SplitHostPort(strings.TrimPrefix(backend.URL, "https://"))
	ok(t, err)
	port = must(strconv.Atoi(text))(t)

	core := srv.Client().CoreV1()
	node := must(core.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: named("node")}, metav1.CreateOptions{}))(t)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	must(core.Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}))(t)
	running := pod("web")
	running.Spec.NodeName = node.Name
	running.Spec.Containers = append(running.Spec.Containers, corev1.Container{Name: "side", Image: "side:1"})
	running = must(core.Pods("default").Create(t.Context(), running, metav1.CreateOptions{}))(t)
	running.Status.PodIPs, running.Status.PodIP = []corev1.PodIP{{IP: host}}, host
	must(core.Pods("default").UpdateStatus(t.Context(), running, metav1.UpdateOptions{}))(t)
	must(core.Services("default").Create(t.Context(), &corev1.Service{ObjectMeta: named("web"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}, metav1.CreateOptions{}))(t)
	must(srv.Client().DiscoveryV1().EndpointSlices("default").Create(t.Context(), endpointSlice("web", port), metav1.CreateOptions{}))(t)
	return port, func() []string {
		mu.Lock()
		defer mu.Unlock()
		taken := seen
		seen = nil
		return taken
	}
}
