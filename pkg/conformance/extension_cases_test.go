package conformance_test

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/checker"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
)

// judge runs the suite for an extension, and returns the results of the cases that didn't pass.
func judge(t *testing.T, change func(http.Handler) http.Handler) map[string]conformance.Status {
	t.Helper()
	hooks := catalog.New()
	if err := clusterapi.AddToCatalog(hooks); err != nil {
		t.Fatal(err)
	}
	e, err := extension.New(extension.Options{Catalog: hooks}, extension.Of(clusterapi.DiscoverVariables, "v",
		func(_ context.Context, _ *clusterapi.DiscoverVariablesRequest, r *clusterapi.DiscoverVariablesResponse) {
			r.Status = hooksv1.ResponseStatusSuccess
		}))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(change(e))
	t.Cleanup(server.Close)
	results, err := conformance.Run(t.Context(), conformance.ExtensionCases(checker.Target{Catalog: hooks, ClientConfig: runtimev1.ClientConfig{
		URL: server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}}), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	others := map[string]conformance.Status{}
	for _, result := range results {
		if result.Promise == "" || result.Source == "" {
			t.Errorf("case %s has no promise or no source", result.ID)
		}
		if result.Status != conformance.Passed {
			others[result.ID] = result.Status
		}
	}
	return others
}

func TestGoodExtension(t *testing.T) {
	t.Parallel()
	if others := judge(t, func(e http.Handler) http.Handler { return e }); len(others) > 0 {
		t.Errorf("cases that aren't passed: %v", others)
	}
}

// If an extension answers GET requests, the case about methods fails. All other cases pass.
func TestExtensionThatTakesAnyMethod(t *testing.T) {
	t.Parallel()
	others := judge(t, func(e http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodGet {
				_, _ = w.Write([]byte(`{"status":"Success"}`))
				return
			}
			e.ServeHTTP(w, req)
		})
	})
	if diff := cmp.Diff(map[string]conformance.Status{"extension.method": conformance.Failed}, others); diff != "" {
		t.Errorf("cases that aren't passed (-want +got): %s", diff)
	}
}

// If discovery fails, the other cases are skipped, because they need the names of the handlers.
func TestExtensionWithoutDiscovery(t *testing.T) {
	t.Parallel()
	others := judge(t, func(http.Handler) http.Handler { return http.NotFoundHandler() })
	if others["extension.discovery"] != conformance.Failed || others["extension.idempotence"] != conformance.Skipped || len(others) != len(checker.Checks()) {
		t.Errorf("cases that aren't passed: %v", others)
	}
}
