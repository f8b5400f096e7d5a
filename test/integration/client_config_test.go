package integration_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// arrivals records the server name and the path of each request to a webhook.
type arrivals struct {
	mu   sync.Mutex
	seen []string
}

func (a *arrivals) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.seen = append(a.seen, fmt.Sprintf("SNI %s, host %s, path %s", r.TLS.ServerName, r.Host, r.URL.Path))
		a.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (a *arrivals) list() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.seen)
}

// at returns a change that sets a hook's clientConfig.
func at(config admissionregistrationv1.WebhookClientConfig) change {
	return func(h *hook) { h.ClientConfig = config }
}

// placed sets the address of a service, as --webhook-service does.
func placed(namespace, name string, servicePort int32, port int) miniapitest.Option {
	return inprocess.WithServerOptions(func(o *server.Options) {
		o.Admission.Services[services.Port{Namespace: namespace, Name: name, Port: servicePort}] = fmt.Sprintf("127.0.0.1:%d", port)
	})
}

// createThing creates the ConfigMap for which the webhooks of these tests are called, in a dry run.
func createThing(t testing.TB, srv *miniapitest.Server) error {
	t.Helper()
	_, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), thing(), metav1.CreateOptions{DryRun: dry})
	return err
}

// The server calls a webhook at the address in its configuration: a URL or a service. The certificate must be valid for
// the host of the URL, or for NAME.NAMESPACE.svc.
func TestClientConfig(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	var arrived arrivals
	listening := own.serve(t, arrived.handler(allow()), "localhost", "my-service.my-namespace.svc", "with-endpoints.my-namespace.svc")
	srv := miniapitest.Start(t, placed("my-namespace", "my-service", 443, listening))
	core := srv.Client().CoreV1()
	must(core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "my-namespace"}}, metav1.CreateOptions{}))(t)
	// The address of this service is given by an option, so that its port can be 443, the default. The addresses of the
	// other services come from the API.
	must(core.Services("my-namespace").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "my-service"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{}))(t)
	// This Service has endpoints. The Service of the other cases has an externalName.
	must(core.Services("my-namespace").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "with-endpoints"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 8443}}},
	}, metav1.CreateOptions{}))(t)
	must(srv.Client().DiscoveryV1().EndpointSlices("my-namespace").Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "with-endpoints-1",
			Labels: map[string]string{discoveryv1.LabelServiceName: "with-endpoints"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}}},
		Ports: []discoveryv1.EndpointPort{{Name: new("https"), Port: port(listening)}},
	}, metav1.CreateOptions{}))(t)
	service := func(path *string, port *int32) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, Service: &admissionregistrationv1.ServiceReference{
			Namespace: "my-namespace", Name: "my-service", Path: path, Port: port,
		}}
	}
	url := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, URL: new(fmt.Sprintf("https://localhost:%d%s", listening, path))}
	}
	for _, tc := range []struct {
		name, reason string
		config       admissionregistrationv1.WebhookClientConfig
		want         string
	}{
		{"url", "the path is optional", url(""), fmt.Sprintf("SNI localhost, host localhost:%d, path /", listening)},
		{"url with a path", "it is used as it is", url("/my/path"),
			fmt.Sprintf("SNI localhost, host localhost:%d, path /my/path", listening)},
		{"service", "port 443 and path / are the defaults", service(nil, nil),
			"SNI my-service.my-namespace.svc, host my-service.my-namespace.svc:443, path /"},
		{"service with a path", "the server uses the path without a change", service(new("/my-path"), nil),
			"SNI my-service.my-namespace.svc, host my-service.my-namespace.svc:443, path /my-path"},
		{"service with a port", "the port is a port of the Service", service(new("/my-path"), port(listening)),
			fmt.Sprintf("SNI my-service.my-namespace.svc, host my-service.my-namespace.svc:%d, path /my-path", listening)},
		{"service with endpoints", "the port of the service leads to the port of its endpoints", admissionregistrationv1.WebhookClientConfig{
			CABundle: own.pem,
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "my-namespace", Name: "with-endpoints", Port: port(8443)},
		}, "SNI with-endpoints.my-namespace.svc, host with-endpoints.my-namespace.svc:8443, path /"},
	} {
		for _, kind := range []func(string, http.Handler, ...change) hook{mutating, validating} {
			t.Run(tc.name, func(t *testing.T) {
				before := len(arrived.list())
				install(t, srv, kind("hook", nil, at(tc.config)))
				ok(t, createThing(t, srv))
				if diff := cmp.Diff([]string{tc.want}, arrived.list()[before:]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// The certificate of a webhook must be from an authority of the caBundle. Without a caBundle, it must be from an
// authority that the system trusts.
func TestCABundle(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	another, err := newAuthority()
	ok(t, err)
	ownPort := own.serve(t, allow(), "localhost", "own.hooks.svc")
	trustedPort := trusted.serve(t, allow(), "localhost", "trusted.hooks.svc")
	srv := miniapitest.Start(t, placed("hooks", "own", 443, ownPort), placed("hooks", "trusted", 443, trustedPort), placed("hooks", "renamed", 443, ownPort))
	url := func(port int, ca []byte) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: ca, URL: new(fmt.Sprintf("https://localhost:%d", port))}
	}
	service := func(name string, ca []byte) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: ca, Service: &admissionregistrationv1.ServiceReference{Namespace: "hooks", Name: name}}
	}
	const unknown = "x509: certificate signed by unknown authority"
	for _, tc := range []struct {
		name, reason string
		config       admissionregistrationv1.WebhookClientConfig
		want         string
	}{
		{"url of the bundle", "the authority of the certificate is in the caBundle", url(ownPort, own.pem), ""},
		{"service of the bundle", "the authority of the certificate is in the caBundle", service("own", own.pem), ""},
		{"bundle of two", "one of the authorities is enough", url(ownPort, append(slices.Clone(another.pem), own.pem...)), ""},
		{"url of another authority", "the caBundle lacks the authority of the certificate", url(ownPort, another.pem), unknown},
		{"service of another authority", "the caBundle lacks the authority of the certificate", service("own", another.pem), unknown},
		{"url of the system", "without a caBundle, the server trusts the system's authorities", url(trustedPort, nil), ""},
		{"service of the system", "without a caBundle, the server trusts the system's authorities", service("trusted", nil), ""},
		{"url of the system, with a bundle", "a caBundle replaces the system's authorities", url(trustedPort, own.pem), unknown},
		{"url unknown to the system", "the system doesn't trust the authority of the certificate", url(ownPort, nil), unknown},
		{"service unknown to the system", "the system doesn't trust the authority of the certificate", service("own", nil), unknown},
		{"service of another name", "the certificate must be valid for NAME.NAMESPACE.svc", service("renamed", own.pem),
			"x509: certificate is valid for localhost, own.hooks.svc, not renamed.hooks.svc"},
		{"bundle that is none", "a caBundle must be PEM", url(ownPort, []byte("not PEM")),
			"could not get REST client: unable to load root certificates: unable to parse bytes as PEM block"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			install(t, srv, validating("hook", nil, at(tc.config)))
			err := createThing(t, srv)
			switch {
			case tc.want == "":
				ok(t, err)
			case !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `failed calling webhook "hook.example.com"`) || !strings.Contains(err.Error(), tc.want):
				t.Errorf("%s: want %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// After a change of a webhook configuration, the next request uses the changed configuration.
func TestConfigurationIsInForceWhenItIsWritten(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	client := srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	first, second := srv.Webhook("/first", deny("first")), srv.Webhook("/second", deny("second"))
	h := validating("hook", nil, at(first.ClientConfig()))
	for range 20 {
		created := must(client.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{h.validating()},
		}, metav1.CreateOptions{}))(t)
		if err := createThing(t, srv); !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "first") {
			t.Fatalf("after the create: want the first webhook's refusal, got %v", err)
		}
		created.Webhooks[0].ClientConfig = second.ClientConfig()
		must(client.Update(t.Context(), created, metav1.UpdateOptions{}))(t)
		if err := createThing(t, srv); !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "second") {
			t.Fatalf("after the update: want the second webhook's refusal, got %v", err)
		}
		ok(t, client.Delete(t.Context(), "hook", metav1.DeleteOptions{}))
		ok(t, createThing(t, srv))
	}
}
