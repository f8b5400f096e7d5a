package integration_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// An extension API server reads at its start whom it has to trust. The entries are there before the first APIService,
// and a server that starts again with its data has the same authorities.
func TestExtensionServersTrustTheServer(t *testing.T) {
	t.Parallel()
	data := miniapitest.WithDataDir(t.TempDir())
	trust := func(srv *miniapitest.Server) map[string]string {
		return must(srv.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{}))(t).Data
	}
	srv := must(miniapitest.New(t.Context(), data))(t)
	first := trust(srv)
	ok(t, srv.Stop())
	if diff := cmp.Diff([]string{
		"client-ca-file", "requestheader-allowed-names", "requestheader-client-ca-file", "requestheader-extra-headers-prefix",
		"requestheader-group-headers", "requestheader-uid-headers", "requestheader-username-headers",
	}, slices.Sorted(maps.Keys(first))); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	for _, file := range []string{"client-ca-file", "requestheader-client-ca-file"} {
		if authorities := must(certutil.ParseCertsPEM([]byte(first[file])))(t); len(authorities) != 1 || !authorities[0].IsCA {
			t.Errorf("%s has %d certificates, want that of one authority", file, len(authorities))
		}
	}
	if first["client-ca-file"] == first["requestheader-client-ca-file"] {
		t.Error("a user with a client certificate could impersonate others")
	}
	if diff := cmp.Diff(first, trust(miniapitest.Start(t, data))); diff != "" {
		t.Errorf("after a restart (-first +again):\n%s", diff)
	}
}
