package miniapitest_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Fifty servers run at the same time in one process, isolated from each other.
func TestManyServers(t *testing.T) {
	t.Parallel()
	const n = 50
	var starting, running sync.WaitGroup
	starting.Add(n)
	for range n {
		running.Go(func() {
			srv, err := miniapitest.New(t.Context())
			starting.Done()
			if err != nil {
				t.Error(err)
				return
			}
			starting.Wait()
			maps := srv.Client().CoreV1().ConfigMaps("default")
			if _, err := maps.Create(t.Context(), configMap("mine"), metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
			if err := srv.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}

// After the stop, the server neither follows configuration files nor asks an issuer that has never answered.
func TestFollowedFiles(t *testing.T) {
	t.Parallel()
	issuer := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(issuer.Close)
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: "
	authentication, authorization := filepath.Join(t.TempDir(), "authentication.yaml"), filepath.Join(t.TempDir(), "authorization.yaml")
	for file, content := range map[string]string{
		authentication: head + "AuthenticationConfiguration\njwt: [{issuer: {url: \"" + issuer.URL + "\", audiences: [a]}, claimMappings: {username: {claim: sub, prefix: \"\"}}}]",
		authorization:  head + "AuthorizationConfiguration\nauthorizers: [{type: RBAC, name: rbac}]",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	srv := miniapitest.Start(t, miniapitest.WithFlags("--authentication-config="+authentication, "--authorization-config="+authorization))
	if err := srv.Stop(); err != nil {
		t.Error(err)
	}
}
