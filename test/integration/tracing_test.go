package integration_test

import (
	"maps"
	"net"
	"net/http"
	"regexp"
	"testing"

	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// With --tracing-config-file, calls of webhooks belong to the trace of the request. Without the flag, calls have the
// trace header of the client.
func TestTracing(t *testing.T) {
	t.Parallel()
	// The collector accepts connections but no spans, because the test checks only headers.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	collector := grpc.NewServer()
	go collector.Serve(listener) //nolint:errcheck // returns at Stop
	t.Cleanup(collector.Stop)
	config := write(t, "tracing.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: 1000000\n"+
		"endpoint: "+listener.Addr().String()+"\n")
	on := inprocess.WithServerOptions(func(o *server.Options) { o.Tracing.ConfigFile = config })
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		caller       http.Header
		want         http.Header // the headers, as regular expressions
	}{
		{"on", "a sampled trace has the flag 01", []miniapitest.Option{on}, nil,
			http.Header{"Traceparent": {"00-[0-9a-f]{32}-[0-9a-f]{16}-01"}, "Baggage": {""}}},
		{"on, of a traced caller", "the call belongs to the caller's trace", []miniapitest.Option{on},
			http.Header{"Traceparent": {"00-" + trace + "-" + span + "-01"}},
			http.Header{"Traceparent": {"00-" + trace + "-[0-9a-f]{16}-01"}}},
		{"off", "the request belongs to no trace", nil, nil, http.Header{"Traceparent": {""}, "Baggage": {""}}},
		{"off, of a traced caller", "the call has the trace header of the caller", nil,
			http.Header{"Traceparent": {"00-" + trace + "-" + span + "-01"}, "Tracestate": {"vendor=opaque"}, "Baggage": {"user=alice"}},
			http.Header{"Traceparent": {"00-" + trace + "-" + span + "-01"}, "Tracestate": {"vendor=opaque"}, "Baggage": {"user=alice"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, test.options...)
			headers := make(chan http.Header, 1)
			install(t, srv, validating("traced", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				headers <- r.Header
				allow().ServeHTTP(w, r)
			})))
			as := srv.Config()
			as.Wrap(func(rt http.RoundTripper) http.RoundTripper { return withHeader{rt, test.caller} })
			_, err := must(kubernetes.NewForConfig(as))(t).CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{})
			ok(t, err)
			got := <-headers
			for name, want := range test.want {
				if !regexp.MustCompile("^" + want[0] + "$").MatchString(got.Get(name)) {
					t.Errorf("%s: want the webhook's request to have the %s %q, got %q", test.reason, name, want[0], got.Get(name))
				}
			}
		})
	}
}

// withHeader adds a header to requests.
type withHeader struct {
	http.RoundTripper
	header http.Header
}

func (w withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, w.header)
	return w.RoundTripper.RoundTrip(r)
}
