package integration_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// unending returns an API server. Its response to a request for hammers begins with a call of begin, and never ends.
func unending(begin func(http.ResponseWriter)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasSuffix(req.URL.Path, "/hammers") {
			(&extension{}).ServeHTTP(w, req)
			return
		}
		begin(w)
		<-req.Context().Done()
	})
}

// If a client's request has a timeout, the timeout also ends a request that the server passes to another server. The
// client gets the same error as for the server's own resources.
func TestTimeoutOfAggregatedRequest(t *testing.T) {
	t.Parallel()
	port := trusted.serve(t, unending(func(http.ResponseWriter) {}), "tools.default.svc")
	srv := miniapitest.Start(t, placed("default", "tools", 443, port))
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	for _, protocol := range []string{"http/1.1", "h2"} {
		config := srv.Config()
		config.NextProtos = []string{protocol}
		client := must(rest.HTTPClientFor(config))(t)
		path := config.Host + "/apis/tools.example.com/v1/namespaces/default/hammers?timeout=50ms"
		response := must(client.Do(must(http.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))(t)))(t)
		body := must(io.ReadAll(response.Body))(t)
		ok(t, response.Body.Close())
		if response.StatusCode != http.StatusGatewayTimeout || !strings.Contains(string(body), `"reason":"Timeout"`) {
			t.Errorf("%s: the answer is %s: %s", protocol, response.Status, body)
		}
	}
}

// When the server stops, a watch of another server's resources ends at once, like every watch.
func TestStopWithWatchOfAggregatedAPI(t *testing.T) {
	t.Parallel()
	port := trusted.serve(t, unending(func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_ = http.NewResponseController(w).Flush()
	}), "tools.default.svc")
	srv := miniapitest.Start(t, placed("default", "tools", 443, port), inprocess.WithServerOptions(func(o *server.Options) {
		// This grace period is long, so only the behaviour under test can end the watch in time.
		o.ServerRun.ShutdownWatchTerminationGracePeriod = time.Hour
	}))
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	watch := must(resources(srv, "tools.example.com/v1", "hammers").Watch(t.Context(), metav1.ListOptions{}))(t)
	defer watch.Stop()
	ok(t, srv.Stop())
	for event := range watch.ResultChan() {
		t.Errorf("the last that is seen is %v", event)
	}
}

// A webhook can be an aggregated API: its clientConfig names the service of this server itself. Then a caBundle has no
// effect.
func TestAggregatedWebhook(t *testing.T) {
	t.Parallel()
	const path = "/apis/tools.example.com/v1/reviews"
	for _, test := range []struct {
		name, reason string
		config       admissionregistrationv1.WebhookClientConfig
	}{
		{"service", "the service has no endpoints, because this server listens on the loopback address", admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "kubernetes", Path: ptr.To(path)},
		}},
		{"service and authority", "no certificate is shown", admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "kubernetes", Path: ptr.To(path)},
			CABundle: trusted.pem,
		}},
		{"address", "the URL has the DNS name of the same service", admissionregistrationv1.WebhookClientConfig{
			URL: ptr.To("https://kubernetes.default.svc" + path), CABundle: trusted.pem,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			recorder := &miniapitest.Recorder{}
			reviews := recorder.Handler(allow())
			port := trusted.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.URL.Path == path {
					reviews.ServeHTTP(w, req)
					return
				}
				(&extension{}).ServeHTTP(w, req)
			}), "tools.default.svc")
			srv := miniapitest.Start(t, placed("default", "tools", 443, port))
			must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
			becomes(t, srv, "Available True")
			configure(t, srv, "aggregated", validating("aggregated", nil, at(test.config)))
			ok(t, createThing(t, srv))
			only(t, recorder)
		})
	}
}

// After a restart, the server announces its new certificate to other servers before it sends them a request with this
// certificate. The order holds even if another server has a webhook for the write that announces the certificate.
func TestAggregatedWebhookAfterRestart(t *testing.T) {
	t.Parallel()
	const path = "/apis/tools.example.com/v1/reviews"
	tools, recorder := &extension{}, &miniapitest.Recorder{}
	reviews := recorder.Handler(allow())
	port := trusted.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == path {
			reviews.ServeHTTP(w, req)
			return
		}
		tools.ServeHTTP(w, req)
	}), "tools.default.svc")
	options := []miniapitest.Option{miniapitest.WithDataDir(t.TempDir()), placed("default", "tools", 443, port)}
	srv := miniapitest.Start(t, options...)
	must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), toolsService("tools"), metav1.CreateOptions{}))(t)
	becomes(t, srv, "Available True")
	aggregated := validating("aggregated", nil, at(admissionregistrationv1.WebhookClientConfig{
		Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: "kubernetes", Path: ptr.To(path)},
	}))
	configurations := srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	must(configurations.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "aggregated"},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{aggregated.validating()},
	}, metav1.CreateOptions{}))(t)
	ok(t, srv.Stop())

	srv = miniapitest.Start(t, options...)
	ok(t, createThing(t, srv))
	must(resources(srv, "tools.example.com/v1", "hammers").List(t.Context(), metav1.ListOptions{}))(t)
	tools.mu.Lock()
	defer tools.mu.Unlock()
	trustsFrontProxy(t, srv, tools.certs)
}
