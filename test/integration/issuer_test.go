package integration_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// The server serves the OpenID configuration and the keys of service account tokens at their paths with and without
// a slash at the end. The OpenAPI documents have the slash, and so have generated clients.
func TestIssuerDiscovery(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	client := srv.Client().CoreV1().RESTClient()
	for _, path := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
		want := must(client.Get().AbsPath(path).DoRaw(t.Context()))(t)
		got := must(client.Get().RequestURI(path + "/").DoRaw(t.Context()))(t)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s/ (-without a slash +with one):\n%s", path, diff)
		}
		for _, document := range []string{"/openapi/v2", "/openapi/v3" + path} {
			described := must(client.Get().AbsPath(document).SetHeader("Accept", "application/json").DoRaw(t.Context()))(t)
			if !strings.Contains(string(described), `"`+path+`/":{"get":`) {
				t.Errorf("%s doesn't describe %s/: %.300s", document, path, described)
			}
		}
	}
}
