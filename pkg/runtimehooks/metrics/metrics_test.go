package metrics_test

import (
	"strings"
	"testing"
	"time"

	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/metrics"
)

var hook = catalog.GroupVersionHook{Group: "hooks.example", Version: "v1", Hook: "BeforeCreate"}

func TestCalls(t *testing.T) {
	t.Parallel()
	calls := metrics.NewCalls()
	registry := basemetrics.NewKubeRegistry()
	registry.MustRegister(calls.Metrics()...)
	answered := &hooksv1.DiscoveryResponse{}
	answered.Status = hooksv1.ResponseStatusFailure
	calls.Observe(hookclient.Outcome{Hook: hook, Host: "a:443", Code: 200, Response: answered, Duration: time.Second})
	calls.Observe(hookclient.Outcome{Hook: hook, Host: "a:443", Code: 200, Response: answered, Duration: time.Second})
	calls.Observe(hookclient.Outcome{Hook: hook, Host: "a:443", Response: &hooksv1.DiscoveryResponse{}, Duration: 3 * time.Second})
	calls.Observe(hookclient.Outcome{Hook: hook}) // an outcome without a host: nothing was sent
	want := `
# HELP capi_runtime_sdk_requests_total [ALPHA] Calls of hooks, by HTTP status, host, hook and status of the response.
# TYPE capi_runtime_sdk_requests_total counter
capi_runtime_sdk_requests_total{code="200",group="hooks.example",hook="BeforeCreate",host="a:443",status="Failure",version="v1"} 2
capi_runtime_sdk_requests_total{code="<error>",group="hooks.example",hook="BeforeCreate",host="a:443",status="Unknown",version="v1"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "capi_runtime_sdk_requests_total"); err != nil {
		t.Error(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "capi_runtime_sdk_request_duration_seconds" {
			if h := family.GetMetric()[0].GetHistogram(); h.GetSampleCount() != 3 || h.GetSampleSum() != 5 {
				t.Errorf("the histogram is %v", h)
			}
			return
		}
	}
	t.Error("there is no histogram")
}

func TestRequests(t *testing.T) {
	t.Parallel()
	requests := metrics.NewRequests()
	registry := basemetrics.NewKubeRegistry()
	registry.MustRegister(requests.Metrics()...)
	requests.Observe(extension.Served{Path: "/a", Hook: hook, Code: 500, Duration: time.Second})
	want := `
# HELP controller_runtime_webhook_requests_total [ALPHA] Requests that were answered, by path and HTTP status.
# TYPE controller_runtime_webhook_requests_total counter
controller_runtime_webhook_requests_total{code="500",webhook="/a"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "controller_runtime_webhook_requests_total"); err != nil {
		t.Error(err)
	}
}
