package integration_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
	"github.com/miniapi-dev/miniapi/pkg/server"
	"github.com/miniapi-dev/miniapi/pkg/server/hookcalls"
)

// If an ExtensionConfig names a service, the server gets the address of the service in the same way as for a webhook:
// from --webhook-service, or from the service's endpoints.
func TestExtensionOfService(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	var arrived arrivals
	port := own.serve(t, arrived.handler(discovering(t, answers("quota", "", 0))), "quota.default.svc")
	srv := miniapitest.Start(t, withHooks(), placed("default", "quota", 443, port))
	config := extensionConfig(t, "a", fmt.Sprintf(`{clientConfig: {service: {namespace: default, name: quota, path: /prefix}, caBundle: %s}}`, base64.StdEncoding.EncodeToString(own.pem)))
	created := must(srv.DynamicClient().Resource(runtimev1.Resource()).Create(t.Context(), config, metav1.CreateOptions{}))(t)
	if port, _, _ := unstructured.NestedInt64(created.Object, "spec", "clientConfig", "service", "port"); port != 443 {
		t.Errorf("the default port is %d", port)
	}
	// The extension has no handler for paths below /prefix.
	awaitDiscovered(t, srv, "a", metav1.ConditionFalse, "HTTP status 404")
	want := "SNI quota.default.svc, host quota.default.svc:443, path /prefix/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery"
	if got := arrived.list(); len(got) == 0 || got[0] != want {
		t.Errorf("requests are %q, not %q", got, want)
	}
	must(srv.DynamicClient().Resource(runtimev1.Resource()).Patch(t.Context(), "a", types.MergePatchType,
		[]byte(`{"spec":{"clientConfig":{"service":{"path":null}}}}`), metav1.PatchOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	awaitAnswers(t, srv, "quota.a")
}

// With the same clientConfig, the server connects to an extension and to an admission webhook in the same way: with the
// same address and server name, or with the same error.
func TestExtensionsAreReachedAsWebhooksAre(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	var webhooks, extensions arrivals
	// One HTTPS server has both the extensions and the webhooks, at different paths.
	extension, webhook := extensions.handler(discovering(t, answers("quota", "", 0))), webhooks.handler(allow())
	listening := own.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/discovery") {
			extension.ServeHTTP(w, req)
			return
		}
		webhook.ServeHTTP(w, req)
	}), "localhost", "placed.default.svc", "with-endpoints.default.svc", "elsewhere.default.svc")
	srv := miniapitest.Start(t, withHooks(), placed("default", "placed", 443, listening), placed("default", "renamed", 443, listening))
	services := srv.Client().CoreV1().Services("default")
	for _, service := range []*corev1.Service{
		{ObjectMeta: named("elsewhere"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}},
		{ObjectMeta: named("with-endpoints"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}},
		{ObjectMeta: named("without-endpoints"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}},
	} {
		must(services.Create(t.Context(), service, metav1.CreateOptions{}))(t)
	}
	must(srv.Client().DiscoveryV1().EndpointSlices("default").Create(t.Context(), endpointSlice("with-endpoints", listening), metav1.CreateOptions{}))(t)
	service := func(name string, port *int32) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, Service: &admissionregistrationv1.ServiceReference{Namespace: "default", Name: name, Port: port}}
	}
	for _, test := range []struct {
		name, reason string
		config       admissionregistrationv1.WebhookClientConfig
		want, err    string // the request without its path, or a part of the error
	}{
		{"url", "the host is that of the URL",
			admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, URL: new(fmt.Sprintf("https://localhost:%d", listening))},
			fmt.Sprintf("SNI localhost, host localhost:%d", listening), ""},
		{"placed", "--webhook-service has the address", service("placed", nil), "SNI placed.default.svc, host placed.default.svc:443", ""},
		{"elsewhere", "the service has another name, and the given port", service("elsewhere", port(listening)),
			fmt.Sprintf("SNI elsewhere.default.svc, host elsewhere.default.svc:%d", listening), ""},
		{"with-endpoints", "the port of the service leads to the port of its endpoints", service("with-endpoints", nil),
			"SNI with-endpoints.default.svc, host with-endpoints.default.svc:443", ""},
		{"renamed", "the certificate is for another name", service("renamed", nil), "", "not renamed.default.svc"},
		{"missing", "the service doesn't exist", service("missing", nil), "", `service "missing" not found`},
		{"other-port", "the service has no such port", service("with-endpoints", port(8443)), "",
			`no service port 8443 found for service "with-endpoints"`},
		{"without-endpoints", "the service has no endpoints", service("without-endpoints", nil), "", `"without-endpoints"`},
		{"another-authority", "the certificate is of an authority that the system doesn't trust",
			admissionregistrationv1.WebhookClientConfig{URL: new(fmt.Sprintf("https://localhost:%d", listening))}, "",
			"x509: certificate signed by unknown authority"},
		{"no-certificate", "the caBundle is no PEM",
			admissionregistrationv1.WebhookClientConfig{CABundle: []byte("not PEM"), URL: new(fmt.Sprintf("https://localhost:%d", listening))},
			"", "unable to parse bytes as PEM block"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := [2]int{len(webhooks.list()), len(extensions.list())}
			install(t, srv, validating("hook", nil, at(test.config)))
			webhookErr := createThing(t, srv)
			config := extensionConfig(t, test.name, `{clientConfig: {}}`)
			encoded := map[string]any{"caBundle": base64.StdEncoding.EncodeToString(test.config.CABundle)}
			if test.config.CABundle == nil {
				delete(encoded, "caBundle")
			}
			if test.config.URL != nil {
				encoded["url"] = *test.config.URL
			} else {
				encoded["service"] = map[string]any{"namespace": test.config.Service.Namespace, "name": test.config.Service.Name}
				if p := test.config.Service.Port; p != nil {
					ok(t, unstructured.SetNestedField(encoded, int64(*p), "service", "port"))
				}
			}
			ok(t, unstructured.SetNestedMap(config.Object, encoded, "spec", "clientConfig"))
			configs := srv.DynamicClient().Resource(runtimev1.Resource())
			must(configs.Create(t.Context(), config, metav1.CreateOptions{}))(t)
			if test.err != "" {
				awaitDiscovered(t, srv, test.name, metav1.ConditionFalse, test.err)
				if webhookErr == nil || !strings.Contains(webhookErr.Error(), test.err) {
					t.Errorf("the error of the webhook lacks %q: %v (%s)", test.err, webhookErr, test.reason)
				}
				ok(t, configs.Delete(t.Context(), test.name, metav1.DeleteOptions{}))
				return
			}
			ok(t, webhookErr)
			awaitDiscovered(t, srv, test.name, metav1.ConditionTrue, "")
			got := []string{webhooks.list()[before[0]], extensions.list()[before[1]]}
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], ", path")
			}
			if diff := cmp.Diff([]string{test.want, test.want}, got); diff != "" {
				t.Errorf("the requests of the webhook and of discovery (-want +got, %s): %s", test.reason, diff)
			}
		})
	}
}

// If an ExtensionConfig names the service "kubernetes", the server calls itself. It does the same for webhooks.
func TestExtensionOfTheServerItself(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, withHooks())
	config := extensionConfig(t, "itself", `{clientConfig: {service: {namespace: default, name: kubernetes, path: /aggregated}}}`)
	must(srv.DynamicClient().Resource(runtimev1.Resource()).Create(t.Context(), config, metav1.CreateOptions{}))(t)
	awaitDiscovered(t, srv, "itself", metav1.ConditionFalse, "calling https://kubernetes.default.svc:443/aggregated")
}

// The server authenticates itself to extensions with the client certificate in the files that its flags name. If the
// files change, the server uses the new certificate for the next call.
func TestClientCertificateOfExtensions(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	age := time.Now().Add(-time.Hour)
	write := func(name string) {
		t.Helper()
		age = age.Add(time.Second) // some file systems store times in seconds
		issued := own.issue(t, name)
		for file, data := range map[string][]byte{certFile: issued.cert, keyFile: issued.key} {
			ok(t, errors.Join(os.WriteFile(file, data, 0o600), os.Chtimes(file, age, age)))
		}
	}
	write("first")
	srv := miniapitest.Start(t, withHooks(func(o *hookcalls.Options) { o.CertFile, o.KeyFile = certFile, keyFile }))
	working := discovering(t, answers("quota", "", 0))
	seen := make(chan string, 10)
	registerExtension(t, srv, "a", own.pem, own.serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for _, certificate := range req.TLS.PeerCertificates[:min(1, len(req.TLS.PeerCertificates))] {
			seen <- certificate.Subject.CommonName
		}
		working.ServeHTTP(w, req)
	}), "localhost"))
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	expect := func(want string) {
		t.Helper()
		select {
		case got := <-seen:
			if got != want {
				t.Errorf("the extension sees certificate %q, not %q", got, want)
			}
		default:
			t.Errorf("the extension sees no certificate, instead of %q", want)
		}
	}
	expect("first")
	for _, name := range []string{"second", "third"} {
		write(name)
		must(callHook(t.Context(), srv.Config(), hookclient.Call{Hook: "BeforeClusterCreate", Object: aCluster}))(t)
		expect(name)
	}
	ok(t, os.WriteFile(keyFile, []byte("half a key"), 0o600))
	must(callHook(t.Context(), srv.Config(), hookclient.Call{Hook: "BeforeClusterCreate", Object: aCluster}))(t)
	expect("third") // until both files are valid, the server uses the old certificate
}

// Runtime hooks don't need the server's controllers: the server discovers and calls extensions without them.
func TestRuntimeHooksNeedNoControllers(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	srv := miniapitest.Start(t, withHooks(), inprocess.WithServerOptions(func(o *server.Options) { o.Controllers = nil }))
	listening := own.serve(t, discovering(t, answers("quota", "", 0)), "quota.default.svc")
	must(srv.Client().CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: named("quota"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}, metav1.CreateOptions{}))(t)
	must(srv.Client().DiscoveryV1().EndpointSlices("default").Create(t.Context(), endpointSlice("quota", listening), metav1.CreateOptions{}))(t)
	must(srv.Client().CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: named("ca"), Data: map[string][]byte{"ca.crt": own.pem},
	}, metav1.CreateOptions{}))(t)
	config := extensionConfig(t, "a", `{clientConfig: {service: {namespace: default, name: quota}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}}`)
	config.SetAnnotations(map[string]string{runtimev1.InjectCAFromSecretAnnotation: "default/ca"})
	configs := srv.DynamicClient().Resource(runtimev1.Resource())
	must(configs.Create(t.Context(), config, metav1.CreateOptions{}))(t)
	awaitDiscovered(t, srv, "a", metav1.ConditionTrue, "")
	awaitAnswers(t, srv, "quota.a")
	must(configs.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"other"}}}}`), metav1.PatchOptions{}))(t)
	eventually(t, func(ctx context.Context) error {
		result, err := callHook(ctx, srv.Config(), hookclient.Call{Hook: "BeforeClusterCreate", Object: aCluster})
		if err == nil && len(result.Answers) > 0 {
			err = fmt.Errorf("want no answer, because the extension selects another namespace, got %+v", result.Answers)
		}
		return err
	})
}
