package services

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The kubeconfig of the webhook plugins names users by the host and port of a webhook's URL. Port 443 may be left out,
// and "*" stands for the first labels of the host. If no user has the name of a webhook, the webhook gets the default
// credentials. The test dials one server for all hosts.
func TestCredentialsByHost(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	const none = "*"
	for _, test := range []struct {
		name, reason string
		url          string
		users        []string
		want         string // the user whose credentials the webhook gets; "*" stands for the default
	}{
		{"host", "443 is left out in the URL and in the name", "https://www.example.com", []string{"www.example.com"}, "www.example.com"},
		{"host and path", "the path is no part of the name", "https://www.example.com/validate",
			[]string{"www.example.com"}, "www.example.com"},
		{"host and 443", "443 is given in the URL and in the name", "https://www.example.com:443",
			[]string{"www.example.com:443"}, "www.example.com:443"},
		{"443 of the url alone", "a URL with port 443 is equal to a URL without a port", "https://www.example.com:443",
			[]string{"www.example.com"}, "www.example.com"},
		{"443 of the name alone", "a name with port 443 is equal to a name without a port", "https://www.example.com",
			[]string{"www.example.com:443"}, "www.example.com:443"},
		{"both names", "the name with the port is more specific", "https://www.example.com",
			[]string{"www.example.com", "www.example.com:443"}, "www.example.com:443"},
		{"host and another port", "the port is part of the name", "https://www.example.com:8443",
			[]string{"www.example.com", "www.example.com:8443"}, "www.example.com:8443"},
		{"another port of the url", "443 alone may be left out", "https://www.example.com:8443", []string{"www.example.com"}, none},
		{"another port of the name", "443 alone may be left out", "https://www.example.com", []string{"www.example.com:8443"}, none},
		{"another host", "the host is part of the name", "https://www.example.com", []string{"example.com", "www.example"}, none},
		{"wildcard", "an asterisk stands for any first segment", "https://www.example.com",
			[]string{"*.com", "*.example.com", "*.org"}, "*.example.com"},
		{"wildcard of another port", "the port is part of the name", "https://www.example.com:8443",
			[]string{"*.example.com", "*.example.com:8443"}, "*.example.com:8443"},
		{"wildcard without the port", "443 alone may be left out", "https://www.example.com:8443", []string{"*.example.com"}, none},
		{"address", "an address is a host, too", "https://127.0.0.1:8443", []string{"127.0.0.1:8443"}, "127.0.0.1:8443"},
		{"address of version 6", "the name has the address in the same form as the URL", "https://[::1]:8443",
			[]string{"[::1]:8443"}, "[::1]:8443"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := clientcmdapi.NewConfig()
			for _, user := range append(test.users, none) {
				config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: user}
			}
			file := filepath.Join(t.TempDir(), "kubeconfig")
			if err := clientcmd.WriteToFile(*config, file); err != nil {
				t.Fatal(err)
			}
			manager, err := webhook.NewClientManager([]schema.GroupVersion{{Version: "v1"}})
			if err != nil {
				t.Fatal(err)
			}
			resolver, err := webhook.NewDefaultAuthenticationInfoResolver(file)
			if err != nil {
				t.Fatal(err)
			}
			manager.SetAuthenticationInfoResolver(resolver)
			manager.SetAuthenticationInfoResolverWrapper(NewAuthentication(nil, nil, &rest.Config{}, dial, nil))
			client, err := manager.HookClient(webhook.ClientConfig{Name: "hook", URL: test.url, CABundle: ca})
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Post().DoRaw(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := "Bearer " + test.want; string(got) != want {
				t.Errorf("%s: the webhook is shown %q, want %q", test.reason, got, want)
			}
		})
	}
}
