package integration_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// The server's health checks of the objects that every cluster has, such as RBAC roles, have kube-apiserver's
// names, because clients wait for these names.
func TestHealthOfTheInitialObjects(t *testing.T) {
	t.Parallel()
	all := miniapitest.Start(t)
	some := miniapitest.Start(t, inprocess.WithServerOptions(func(o *server.Options) {
		o.APIs.RuntimeConfig["scheduling.k8s.io/v1"] = "false"
	}))
	for _, test := range []struct {
		name, reason string
		srv          *miniapitest.Server
		check        string
		want         int
	}{
		{"roles", "scripts wait for this check", all, "rbac/bootstrap-roles", http.StatusOK},
		{"priority classes", "system pods need the priority classes", all, "scheduling/bootstrap-system-priority-classes", http.StatusOK},
		{"flow schemas", "the flow schemas are created, although the server doesn't apply them", all,
			"priority-and-fairness-config-producer", http.StatusOK},
		{"namespaces", "objects need their namespaces", all, "start-system-namespaces-controller", http.StatusOK},
		{"trust", "extension API servers read whom to trust", all, "start-cluster-authentication-info-controller", http.StatusOK},
		{"token tracking", "the server stores the date of the beginning", all, "start-legacy-token-tracking-controller", http.StatusOK},
		{"service", "pods reach the API through the service", all, "bootstrap-controller", http.StatusOK},
		{"addresses", "services get addresses from the range of the ServiceCIDR", all,
			"start-kubernetes-service-cidr-controller", http.StatusOK},
		{"not served", "the server doesn't create objects of kinds that it doesn't serve", some,
			"scheduling/bootstrap-system-priority-classes", http.StatusNotFound},
		{"the others", "the other objects are created all the same", some, "rbac/bootstrap-roles", http.StatusOK},
		{"unknown", "a misspelt name mustn't be healthy", all, "rbac/bootstrap-rules", http.StatusNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"/healthz/", "/livez/", "/readyz/"} {
				path += "poststarthook/" + test.check
				var got int
				test.srv.Client().Discovery().RESTClient().Get().AbsPath(path).Do(t.Context()).StatusCode(&got)
				if got != test.want {
					t.Errorf("%s answers %d, want %d: %s", path, got, test.want, test.reason)
				}
			}
		})
	}
}

// The health checks of admission, of the storages and of the aggregation layer have kube-apiserver's names. A server
// without APIServices has no aggregation layer, and no check for it.
func TestHealthOfTheStart(t *testing.T) {
	t.Parallel()
	all := miniapitest.Start(t)
	alone := miniapitest.Start(t, inprocess.WithServerOptions(func(o *server.Options) {
		o.APIs.RuntimeConfig["apiregistration.k8s.io/v1"] = "false"
	}))
	for _, test := range []struct {
		check, reason string
		aggregation   bool
	}{
		{"poststarthook/start-apiserver-admission-initializer", "the first request must find the stored webhooks", false},
		{"poststarthook/storage-readiness", "requests need the storages", false},
		{"poststarthook/start-kube-aggregator-informers", "APIServices are listed", true},
		{"poststarthook/apiservice-registration-controller", "requests are passed on to other servers", true},
		{"poststarthook/apiservice-discovery-controller", "discovery lists the APIs of other servers", true},
		{"poststarthook/apiservice-openapi-controller", "/openapi/v2 has the APIs of other servers", true},
		{"poststarthook/apiservice-openapiv3-controller", "/openapi/v3 has the APIs of other servers", true},
		{"poststarthook/apiservice-status-remote-available-controller", "the status shows whether another server answers", true},
		{"poststarthook/apiservice-status-local-available-controller", "the server's own APIServices are available", true},
		{"poststarthook/kube-apiserver-autoregistration", "the server's own APIs have APIServices", true},
		{"autoregister-completion", "the server's own APIServices are stored when a client reads them", true},
	} {
		t.Run(test.check, func(t *testing.T) {
			t.Parallel()
			for srv, served := range map[*miniapitest.Server]bool{all: true, alone: !test.aggregation} {
				want := http.StatusOK
				if !served {
					want = http.StatusNotFound
				}
				for _, path := range []string{"/healthz/", "/livez/", "/readyz/"} {
					var got int
					srv.Client().Discovery().RESTClient().Get().AbsPath(path + test.check).Do(t.Context()).StatusCode(&got)
					if got != want {
						t.Errorf("%s%s answers %d, want %d: %s", path, test.check, got, want, test.reason)
					}
				}
			}
		})
	}
}

// The checks of etcd and of the client by which the server calls itself are below the same paths as in kube-apiserver.
func TestHealthPaths(t *testing.T) {
	t.Parallel()
	client := miniapitest.Start(t).Client().Discovery().RESTClient()
	for _, test := range []struct {
		check, reason          string
		healthz, livez, readyz bool
	}{
		{"loopback-serving-certificate", "a server that can't call itself needs a restart", true, true, false},
		{"etcd", "a server can't live without etcd", true, true, true},
		{"etcd-readiness", "kube-apiserver checks etcd with a shorter timeout before it is ready", false, false, true},
		{"bootstrap", "kube-apiserver has a check for each part of the initial objects instead", false, false, false},
	} {
		for path, want := range map[string]bool{"/healthz": test.healthz, "/livez": test.livez, "/readyz": test.readyz} {
			body := must(client.Get().AbsPath(path).Param("verbose", "").Do(t.Context()).Raw())(t)
			if listed := strings.Contains(string(body), "[+]"+test.check+" ok\n"); listed != want {
				t.Errorf("%s lists %s: want %t because %s, got:\n%s", path, test.check, want, test.reason, body)
			}
		}
	}
}
