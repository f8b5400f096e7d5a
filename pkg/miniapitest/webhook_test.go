package miniapitest_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

func label(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return miniapitest.Patched(miniapitest.Add("/metadata/labels", map[string]string{"team": "blue"}))
}

func refuseBad(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if strings.HasPrefix(r.Name, "bad") {
		return miniapitest.Denied("the name is bad")
	}
	return miniapitest.Allowed("be careful")
}

func allow(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return miniapitest.Allowed()
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// The fixture serves the services in webhook configurations.
func TestWebhookManifests(t *testing.T) {
	t.Parallel()
	recorder := &miniapitest.Recorder{}
	srv := miniapitest.Start(t,
		miniapitest.WithWebhook("/mutate", recorder.Handler(miniapitest.AdmissionHandler(label))),
		miniapitest.WithWebhook("/validate", recorder.Handler(miniapitest.AdmissionHandler(refuseBad))),
		miniapitest.WithWebhookManifests("testdata/webhooks"),
	)
	maps := srv.Client().CoreV1().ConfigMaps("default")
	created, err := maps.Create(t.Context(), configMap("good"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"team": "blue"}, created.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	const refusal = `admission webhook "refuse.example.com" denied the request: the name is bad`
	if _, err := maps.Create(t.Context(), configMap("bad"), metav1.CreateOptions{}); err == nil || err.Error() != refusal {
		t.Errorf("want %q, got %v", refusal, err)
	}
	var calls []string
	for _, review := range recorder.Reviews() {
		calls = append(calls, review.Path+" "+review.APIVersion+" "+review.Request.Name)
	}
	want := []string{
		"/mutate admission.k8s.io/v1 good", "/validate admission.k8s.io/v1beta1 good",
		"/mutate admission.k8s.io/v1 bad", "/validate admission.k8s.io/v1beta1 bad",
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A webhook of a running server is in force when the write of its configuration is answered.
func TestWebhook(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	webhook := srv.Webhook("/validate", miniapitest.AdmissionHandler(refuseBad))
	_, err := srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), refusing(webhook.ClientConfig()), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("bad"), metav1.CreateOptions{}); err == nil {
		t.Error("the webhook wasn't asked")
	}
	srv.Webhook("/validate", miniapitest.AdmissionHandler(allow))
	if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("bad"), metav1.CreateOptions{}); err != nil {
		t.Errorf("want the other handler asked, got %v", err)
	}
}

// A call of a handler that doesn't return fails with the reason.
func TestWebhookEnds(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t)
	for _, test := range []struct {
		name, reason string
		end          func()
		want         string
	}{
		{"mistake", "the author of the handler needs the message", func() { panic("index out of range") }, "the handler has panicked: index out of range"},
		{"meant to end the request", "net/http takes it for hanging up", func() { panic(http.ErrAbortHandler) }, "received from peer"},
		{"end of the goroutine", "t.FailNow does no other", runtime.Goexit, "the handler has ended its goroutine, as t.FailNow"},
	} {
		webhook := srv.Webhook("/validate", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { test.end() }))
		configuration := refusing(webhook.ClientConfig())
		if _, err := srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("m"), metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s: want %q, got %v", test.name, test.reason, test.want, err)
		}
		if err := srv.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// Configurations that the test creates can name a service of the fixture.
func TestWebhookService(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t,
		miniapitest.WithWebhook("/validate", miniapitest.AdmissionHandler(refuseBad)),
		miniapitest.WithWebhookService("system", "webhook-service"),
	)
	service := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
		Namespace: "system", Name: "webhook-service", Path: new("/validate"), Port: new(int32(9443)),
	}}
	_, err := srv.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), refusing(service), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("bad"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want the webhook's refusal, got %v", err)
	}
}

// If a webhook can't be reached, the start fails with the reason.
func TestWebhookNotReached(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	panicking := func(http2 bool) (clientConfig string) {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })) // package http doesn't log this panic
		s.EnableHTTP2 = http2
		s.StartTLS()
		t.Cleanup(s.Close)
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		return "caBundle: " + base64.StdEncoding.EncodeToString(ca) + "\n    url: " + s.URL + "/validate\n"
	}
	other := miniapitest.Start(t)
	otherCA := base64.StdEncoding.EncodeToString(other.Webhook("/", http.NotFoundHandler()).CABundle())
	const (
		configurations = "testdata/webhooks/manifests.yaml"
		definition     = "testdata/conversion/gears.yaml"
		service        = "service:\n      namespace: system\n      name: webhook-service\n      path: /validate\n"
		unverified     = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
	)
	tests := []struct {
		name, reason string
		manifest     string
		old, new     string // a replacement in the manifest
		install      func(...string) miniapitest.Option
		path         string // the path of the handler
		want         []string
	}{{
		name: "no handler", reason: "the path of the configuration is wrong, or WithWebhook's",
		manifest: configurations, install: miniapitest.WithWebhookManifests, path: "/mutate",
		want: []string{`webhook "refuse.example.com" can't be reached: the fixture has no handler for /validate: WithWebhook gives it one`},
	}, {
		name: "another's caBundle", reason: "an explicit caBundle stays: a mistake in it must not be hidden",
		manifest: configurations, install: miniapitest.WithWebhookManifests, path: "/",
		old: "clientConfig:\n", new: "clientConfig:\n    caBundle: " + otherCA + "\n",
		want: []string{`webhook "label.example.com" can't be reached`, unverified},
	}, {
		name: "elsewhere, not trusted", reason: "there is no caBundle, and the fixture vouches for its own handlers alone",
		manifest: configurations, install: miniapitest.WithWebhookManifests, path: "/",
		old: service, new: "url: " + elsewhere.URL + "/validate\n",
		want: []string{`webhook "refuse.example.com" can't be reached`, unverified},
	}, {
		name: "elsewhere, panics", reason: "what reads a review from every request may not expect one without",
		manifest: configurations, install: miniapitest.WithWebhookManifests, path: "/",
		old: service, new: panicking(false),
		want: []string{`webhook "refuse.example.com" can't be reached`, "EOF: the webhook must answer a GET without a body"},
	}, {
		name: "elsewhere, panics by HTTP/2", reason: "there, the connection goes on",
		manifest: configurations, install: miniapitest.WithWebhookManifests, path: "/",
		old: service, new: panicking(true),
		want: []string{`webhook "refuse.example.com" can't be reached`, "INTERNAL_ERROR", "the webhook must answer a GET without a body"},
	}, {
		name: "conversion, no handler", reason: "objects can't be read in another version",
		manifest: definition, install: miniapitest.WithCRDs, path: "/validate",
		want: []string{`webhook "gears.example.com" can't be reached: the fixture has no handler for /convert: WithWebhook gives it one`},
	}, {
		name: "conversion, another's caBundle", reason: "it stays here, too",
		manifest: definition, install: miniapitest.WithCRDs, path: "/",
		old: "clientConfig:\n", new: "clientConfig:\n        caBundle: " + otherCA + "\n",
		want: []string{`webhook "gears.example.com" can't be reached`, unverified},
	}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(test.manifest)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "manifests.yaml")
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), test.old, test.new)), 0o600); err != nil {
				t.Fatal(err)
			}
			srv, err := miniapitest.New(t.Context(), miniapitest.WithWebhook(test.path, http.NotFoundHandler()), test.install(file))
			if err == nil {
				_ = srv.Stop()
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q because %s, got %v", want, test.reason, err)
				}
			}
		})
	}
}

// A webhook elsewhere is called by its URL. No connection to it outlives the server.
func TestWebhookElsewhere(t *testing.T) {
	t.Parallel()
	var connections sync.WaitGroup
	elsewhere := httptest.NewUnstartedServer(miniapitest.AdmissionHandler(refuseBad))
	elsewhere.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			connections.Add(1)
		case http.StateClosed:
			connections.Done()
		}
	}
	elsewhere.StartTLS()
	defer elsewhere.Close()
	configuration := refusing(admissionregistrationv1.WebhookClientConfig{
		URL:      new(elsewhere.URL + "/anywhere"),
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: elsewhere.Certificate().Raw}),
	})
	configuration.TypeMeta = metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"}

	srv := miniapitest.Start(t, miniapitest.WithWebhookManifests(manifest(t, configuration)))
	if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("bad"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want the webhook's refusal, got %v", err)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		connections.Wait()
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("a connection is still open")
	}
}

// manifest writes an object to a file.
func manifest(t *testing.T, object any) string {
	t.Helper()
	content, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
