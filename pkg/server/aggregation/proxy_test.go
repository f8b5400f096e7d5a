package aggregation

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/component-base/metrics/legacyregistry"
)

// TestTerminations checks the metric apiserver_request_terminations_total. A failed request counts
// only if the other server isn't available, because kube-apiserver passes requests only to
// available servers.
func TestTerminations(t *testing.T) {
	t.Parallel()
	metrics.Register()
	for _, test := range []struct {
		group, reason string // all tests of the process share the metric, so no other test uses these groups
		available     bool
		want          float64
	}{
		{"down.example.com", "kube-apiserver refuses requests for a server that isn't available", false, 1},
		{"up.example.com", "kube-apiserver passes the request on to an available server", true, 0},
	} {
		_, r := with(t, nil)
		r.config.Serializer = scheme.Codecs
		r.available.Store(test.available)
		info := &request.RequestInfo{IsResourceRequest: true, Verb: "list", APIGroup: test.group, APIVersion: "v1", Resource: "things"}
		req := httptest.NewRequestWithContext(request.WithRequestInfo(t.Context(), info), http.MethodGet, "/apis/"+test.group+"/v1/things", http.NoBody)
		answer := httptest.NewRecorder()
		failing{r}.Error(answer, req, errors.New("no answer"))
		if answer.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: the answer is %d", test.group, answer.Code)
		}
		if got := terminations(t, test.group); got != test.want {
			t.Errorf("%s: %v requests were terminated, want %v: %s", test.group, got, test.want, test.reason)
		}
	}
}

// terminations returns the number of terminated requests for a group.
func terminations(t *testing.T, group string) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var n float64
	for _, family := range families {
		if family.GetName() != "apiserver_request_terminations_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "group" && label.GetValue() == group {
					n += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}
