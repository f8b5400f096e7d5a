package authn

import (
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	certutil "k8s.io/client-go/util/cert"
)

// certificatePEM returns a new certificate. Its issuer doesn't matter.
func certificatePEM(t *testing.T) string {
	t.Helper()
	_, certificate := issueClientCert(t, "anybody")
	return string(pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: certificate.Raw}))
}

// TestProxiesAreDistinctFromClients checks that ValidateFiles refuses authorities by which a client could pose as a
// proxy. The server takes the user of a request from a proxy's headers.
func TestProxiesAreDistinctFromClients(t *testing.T) {
	t.Parallel()
	one, another, third := certificatePEM(t), certificatePEM(t), certificatePEM(t)
	for _, test := range []struct {
		name, reason     string
		clients, proxies string
		names            []string
		refused          bool
	}{
		{"the same authority", "each client's certificate is a proxy's", one, one, nil, true},
		{"one authority of several", "the certificates of this authority are those of clients and of proxies",
			one + another, third + another, nil, true},
		{"different authorities", "no client has a proxy's certificate", one, another, nil, false},
		{"the same authority, with names", "the proxies' certificates have a name that the clients' don't have", one,
			one, []string{"proxy"}, false},
		{"no clients", "no client has a certificate", "", one, nil, false},
		{"no proxies", "the server trusts no headers", one, "", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--requestheader-allowed-names=" + strings.Join(test.names, ",")}
			for flag, content := range map[string]string{"--client-ca-file=": test.clients, "--requestheader-client-ca-file=": test.proxies} {
				if content != "" {
					args = append(args, flag+write(t, "ca.pem", content))
				}
			}
			err := errors.Join(parse(t, args...).ValidateFiles()...)
			if refused := err != nil; refused != test.refused {
				t.Fatalf("want refused %t because %s, got %v", test.refused, test.reason, err)
			}
			for _, flag := range []string{"--client-ca-file", "--requestheader-client-ca-file", "--requestheader-allowed-names"} {
				if err != nil && !strings.Contains(err.Error(), flag) {
					t.Errorf("the error doesn't name %s: %v", flag, err)
				}
			}
		})
	}
}
