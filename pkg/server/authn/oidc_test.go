package authn

import (
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
)

// newIssuer starts an issuer that publishes the URL of its keys. The channel "ended" gets a value for each connection
// that has ended.
func newIssuer(t *testing.T) (configured apiserver.JWTAuthenticator, ended <-chan struct{}) {
	t.Helper()
	closed := make(chan struct{}, 10)
	var server *httptest.Server
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": server.URL, "jwks_uri": server.URL + "/keys"})
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	prefix := ""
	return apiserver.JWTAuthenticator{
		Issuer: apiserver.Issuer{URL: server.URL, Audiences: []string{"tests"},
			CertificateAuthority: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))},
		ClaimMappings: apiserver.ClaimMappings{Username: apiserver.PrefixedClaimOrExpression{Claim: "sub", Prefix: &prefix}},
	}, closed
}

// TestIssuersEnd checks that a call of the function "end" closes the connections to an issuer. Otherwise they would
// stay open for 90 seconds.
func TestIssuersEnd(t *testing.T) {
	t.Parallel()
	configured, ended := newIssuer(t)
	issuers, end, err := NewOptions().issuers(t.Context(), []apiserver.JWTAuthenticator{configured}, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ready(t.Context(), issuers); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Error("want the connection to stay for the keys")
	default:
	}
	end()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("want the connection to end with what the issuer was made for")
	}
}

func TestIssuersThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		change       func(*apiserver.Issuer)
		want         string
	}{
		{"authority", "the text has no certificate", func(i *apiserver.Issuer) { i.CertificateAuthority = "x" },
			"the certificate authority of the issuer must be certificates in PEM: "},
		{"egress", "the server has no egress selector", func(i *apiserver.Issuer) { i.EgressSelectorType = "cluster" },
			`egressSelectorType "cluster": leave the field out`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			configured, _ := newIssuer(t)
			test.change(&configured.Issuer)
			_, _, err := NewOptions().issuers(t.Context(), []apiserver.JWTAuthenticator{configured}, Environment{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q: %s", err, test.want, test.reason)
			}
		})
	}
}
