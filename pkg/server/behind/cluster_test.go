package behind

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// A client certificate that isn't valid now is told from a wrong user, which the cluster's answer can't do.
func TestCheckCertificate(t *testing.T) {
	t.Parallel()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Client("alice")
	if err != nil {
		t.Fatal(err)
	}
	const year = 365 * 24 * time.Hour
	for _, test := range []struct {
		name, reason string
		config       rest.TLSClientConfig
		now          time.Time
		want         string
	}{
		{"valid", "the cluster judges the rest", rest.TLSClientConfig{CertData: pair.Cert, KeyData: pair.Key}, time.Now(), ""},
		{"expired", "the user must renew it", rest.TLSClientConfig{CertData: pair.Cert, KeyData: pair.Key}, time.Now().Add(50 * year), "the client certificate of CN=alice has expired at "},
		{"not yet valid", "the clock is wrong", rest.TLSClientConfig{CertData: pair.Cert, KeyData: pair.Key}, time.Now().Add(-year), "set the clock"},
		{"none", "the user has a token", rest.TLSClientConfig{}, time.Now(), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cluster := &Cluster{Config: &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: test.config}}
			err := cluster.checkCertificate(test.now)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: want %q, got %v", test.reason, test.want, err)
			}
		})
	}
}

// A webhook that is an aggregated API of the cluster is called through the cluster, by the user of the kubeconfig.
func TestKubernetesService(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprint(w, req.Host == req.Context().Value(http.LocalAddrContextKey).(net.Addr).String(), " ", req.URL, " ", req.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	cluster := &Cluster{Config: &rest.Config{Host: server.URL + "/clusters/one", BearerToken: "secret"}}
	config, err := cluster.KubernetesService()
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "https://kubernetes.default.svc:443/apis/checks.example.com/v1/reviews?timeout=10s", nil)
	req.RequestURI = ""
	answer, err := config.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := "true /clusters/one/apis/checks.example.com/v1/reviews?timeout=10s Bearer secret"; string(got) != want {
		t.Errorf("the request in the cluster: got %q, want %q", got, want)
	}
}
