package cluster

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// A service is called through the API server's proxy, with the credentials of the kubeconfig.
func TestProxied(t *testing.T) {
	t.Parallel()
	var seen string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "answer")
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, BearerToken: "token"}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	path, port := "/mutate", int32(9443)
	endpoint, err := (&Found{config: config, transport: transport}).Proxied(&admissionregistrationv1.ServiceReference{Namespace: "system", Name: "hooks", Path: &path, Port: &port})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := endpoint.Transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if want := "POST /api/v1/namespaces/system/services/https:hooks:9443/proxy/mutate Bearer token"; seen != want {
		t.Errorf("want the request %q, got %q", want, seen)
	}
}

// If the API server can't call a service, Reach returns one error, with the API server's message and the change
// that helps. An answer of the webhook itself is no error, even if it has the form of a status.
func TestReach(t *testing.T) {
	t.Parallel()
	services := schema.GroupResource{Resource: "services"}
	for _, tc := range []struct {
		name, reason string
		answer       *apierrors.StatusError
		want         string
	}{
		{"forbidden", "the user lacks a permission", apierrors.NewForbidden(services, "https:hooks:443", nil),
			"the verb create for services/proxy"},
		{"no service", "the name is wrong", apierrors.NewNotFound(services, "hooks"), "must name a service of the cluster"},
		{"no port", "the port is wrong",
			apierrors.NewServiceUnavailable(`no service port 443 found for service "hooks"`),
			"clientConfig.service.port, by default 443"},
		{"no endpoints", "no pod is ready",
			apierrors.NewServiceUnavailable(`no endpoints available for service "https:hooks:443"`),
			"must be ready, and the port must have the same name"},
		{"no listener", "the target port is wrong",
			apierrors.NewServiceUnavailable("error trying to reach service: dial tcp 10.0.0.1:9443: connect: connection refused"),
			"targetPort"},
		{"no TLS", "the scheme is wrong",
			apierrors.NewServiceUnavailable("error trying to reach service: http: server gave HTTP response to HTTPS client"),
			"must serve TLS"},
		{"plain text", "the scheme is wrong, and the webhook says so after the handshake began",
			apierrors.NewServiceUnavailable("error trying to reach service: tls: first record does not look like a TLS handshake"),
			"must serve TLS"},
		{"webhook's end", "the webhook panics when there is no review",
			apierrors.NewServiceUnavailable("error trying to reach service: stream error: stream ID 1; INTERNAL_ERROR; received from peer"),
			""},
		{"webhook's path", "the webhook is itself an API server without this path", apierrors.NewNotFound(schema.GroupResource{}, ""), ""},
		{"webhook's refusal", "the webhook authenticates its callers", apierrors.NewForbidden(schema.GroupResource{}, "", nil), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls++
				status := tc.answer.Status()
				status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
				w.WriteHeader(int(status.Code))
				_ = json.NewEncoder(w).Encode(status)
			}))
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL}
			transport, err := rest.TransportFor(config)
			if err != nil {
				t.Fatal(err)
			}
			found := &Found{config: config, transport: transport}
			var hooks []webhooksuite.Hook
			for _, path := range []string{"/mutate", "/validate"} {
				hook := webhooksuite.Hook{Name: path}
				hook.Entry.ClientConfig.Service = &admissionregistrationv1.ServiceReference{Namespace: "system", Name: "hooks", Path: &path}
				if hook.Endpoint, err = found.Proxied(hook.Entry.ClientConfig.Service); err != nil {
					t.Fatal(err)
				}
				hooks = append(hooks, hook)
			}
			err = found.Reach(t.Context(), hooks)
			switch {
			case calls != 1:
				t.Errorf("both webhooks have one service: want one call, got %d", calls)
			case tc.want == "" && err != nil:
				t.Errorf("%s: want no error, got %v", tc.reason, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.answer.Error()) || !strings.Contains(err.Error(), tc.want) || strings.Count(err.Error(), "--url") != 1):
				t.Errorf("%s: want an error with %q and %q, got %v", tc.reason, tc.answer.Error(), tc.want, err)
			}
		})
	}
}
