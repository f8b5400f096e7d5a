package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"
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
