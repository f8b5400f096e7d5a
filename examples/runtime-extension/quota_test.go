package main

import (
	"context"
	"encoding/pem"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/checker"
)

// The handler refuses a Cluster with more workers than the setting maxWorkers. The handler is a Go function, so the
// test needs no server.
func TestCheckQuota(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, cluster string
		settings              map[string]string
		want                  hooksv1.ResponseStatus
		message               string
	}{
		{name: "no workers", reason: "a cluster without workers is within the limit", cluster: `{}`, want: "Success"},
		{
			name: "too many", reason: "the limit is for the workers of all deployments together",
			settings: map[string]string{"maxWorkers": "3"}, want: "Failure",
			cluster: `{"metadata":{"name":"c"},"spec":{"topology":{"workers":{"machineDeployments":[{"replicas":2},{"replicas":2}]}}}}`,
			message: "cluster c has 4 workers, and 3 are allowed",
		},
		{name: "setting", reason: "the setting maxWorkers must be a number", cluster: `{}`,
			settings: map[string]string{"maxWorkers": "many"}, want: "Failure",
			message: `setting maxWorkers: strconv.Atoi: parsing "many": invalid syntax`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := &clusterapi.BeforeClusterCreateRequest{Cluster: runtime.RawExtension{Raw: []byte(test.cluster)}}
			request.Settings = test.settings
			response := &clusterapi.BeforeClusterCreateResponse{}
			checkQuota(context.Background(), request, response)
			if response.Status != test.want || response.Message != test.message {
				t.Errorf("%s %q (%s)", response.Status, response.Message, test.reason)
			}
		})
	}
}

// Package checker judges the extension: it sends correct calls as a server does, and wrong calls that the extension
// must refuse.
func TestExtension(t *testing.T) {
	t.Parallel()
	handler, err := newExtension()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	hooks := catalog.New()
	if err := clusterapi.AddToCatalog(hooks); err != nil {
		t.Fatal(err)
	}
	for _, result := range checker.Run(t.Context(), checker.Target{
		Catalog: hooks,
		ClientConfig: runtimev1.ClientConfig{
			URL: server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		},
	}) {
		if result.Err != nil {
			t.Errorf("%s: %v (%s)", result.Check, result.Err, result.Reason)
		}
	}
}
