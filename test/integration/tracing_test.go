package integration_test

import (
	"net"
	"net/http"
	"regexp"
	"testing"

	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// With --tracing-config-file, the calls of webhooks are parts of the request's trace.
func TestTracing(t *testing.T) {
	t.Parallel()
	// A collector that takes nothing: what counts is that traces are passed on.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	collector := grpc.NewServer()
	go collector.Serve(listener) //nolint:errcheck // ends with Stop
	t.Cleanup(collector.Stop)
	config := write(t, "tracing.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: 1000000\n"+
		"endpoint: "+listener.Addr().String()+"\n")
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		want         string
	}{
		{"on", "a sampled trace has the flag 01", []miniapitest.Option{miniapitest.WithServerOptions(func(o *server.Options) { o.Tracing.ConfigFile = config })}, `^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`},
		{"off", "there is no trace", nil, `^$`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, test.options...)
			parents := make(chan string, 1)
			install(t, srv, validating("traced", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				parents <- r.Header.Get("Traceparent")
				allow().ServeHTTP(w, r)
			})))
			_, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{})
			ok(t, err)
			if got := <-parents; !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("%s: the webhook's request has the parent %q", test.reason, got)
			}
		})
	}
}
