package aggregation

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apiserver/pkg/authentication/user"
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

// spans is a TracerProvider that counts the spans that begin.
type spans struct {
	noop.TracerProvider
	begun int
}

func (s *spans) Tracer(string, ...trace.TracerOption) trace.Tracer { return spanTracer{spans: s} }

type spanTracer struct {
	noop.Tracer
	spans *spans
}

func (s spanTracer) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	s.spans.begun++
	return ctx, trace.SpanFromContext(ctx)
}

// TestSpans checks that a request to another server has a span, if the server traces requests. As in kube-apiserver, an
// upgrade has no span: the proxy takes only the dialer and the TLS settings from the transport, and a transport with
// spans hides these.
func TestSpans(t *testing.T) {
	t.Parallel()
	var answered atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered.Add(1) }))
	defer other.Close()
	for _, test := range []struct {
		name, reason, connection string
		traces                   bool
		want                     int
	}{
		{"traced", "the span shows the time of the other server", "", true, 1},
		{"not traced", "the server doesn't trace requests", "", false, 0},
		{"upgrade", "the connection outlives the request", "Upgrade", true, 0},
	} {
		_, r := with(t, nil)
		r.config.Services, r.config.Serializer = at(other.URL), scheme.Codecs
		connection := other.Client().Transport
		r.server.made.Store(&connection)
		tracer := &spans{}
		if test.traces {
			r.config.Tracer = tracer
		}
		ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "ann"})
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/apis/example.com/v1/things", http.NoBody)
		if test.connection != "" {
			req.Header.Set("Connection", test.connection)
			req.Header.Set("Upgrade", "websocket")
		}
		r.pass(httptest.NewRecorder(), req)
		if got := answered.Swap(0); tracer.begun != test.want || got != 1 {
			t.Errorf("%s: %d spans and %d answers, want %d and 1: %s", test.name, tracer.begun, got, test.want, test.reason)
		}
	}
}

// at is a resolver that resolves every Service to the same URL.
type at string

func (a at) ResolveEndpoint(string, string, int32) (*url.URL, error) { return url.Parse(string(a)) }

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
