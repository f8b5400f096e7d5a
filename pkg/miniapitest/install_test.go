package miniapitest_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// parse reads the single object of a file into its Go type.
func parse[T any](t *testing.T, file string) *T {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	object := new(T)
	if err := yaml.UnmarshalStrict(content, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func refusingBy(namespace, name string, port int32) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return refusing(admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
		Namespace: namespace, Name: name, Path: new("/validate"), Port: new(port),
	}})
}

// Definitions and webhook configurations can come from an fs.FS.
func TestFileSystems(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t,
		miniapitest.WithWebhookManifestsFS(testdata, "testdata/webhooks"),
		miniapitest.WithManifestsFS(testdata, "testdata/widgets/widgets.yaml"),
		miniapitest.WithCRDsFS(testdata, "testdata/widgets", "testdata/conversion/*.yaml"),
		miniapitest.WithWebhook("/convert", http.HandlerFunc(convert)),
		miniapitest.WithWebhook("/", miniapitest.AdmissionHandler(refuseBad)),
	)
	if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("bad"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("want the webhook's refusal, got %v", err)
	}
	if _, err := srv.DynamicClient().Resource(widgets).Namespace("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	gears := schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "gears"}
	if _, err := srv.DynamicClient().Resource(gears).List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

// Start reaches each webhook or fails, whichever option the webhook comes by. TestWebhookNotReached has the other
// failures.
func TestInstalledWebhooks(t *testing.T) {
	t.Parallel()
	definition := parse[apiextensionsv1.CustomResourceDefinition](t, "testdata/conversion/gears.yaml")
	common := []miniapitest.Option{
		miniapitest.WithWebhook("/", miniapitest.AdmissionHandler(allow)),
		miniapitest.WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "system"}}),
	}
	written := miniapitest.WithObjects(configMap("after"))
	all := slices.Clone(common)
	for _, test := range []struct {
		name, reason, service string
		option                miniapitest.Option
		webhook               string
	}{
		{"configuration as an object", "an object may name webhooks", "webhook-service", miniapitest.WithObjects(refusingBy("system", "webhook-service", 443)), "refuse.example.com"},
		{"configurations of a list", "so may each of a list", "webhook-service", miniapitest.WithObjects(&admissionregistrationv1.ValidatingWebhookConfigurationList{
			Items: []admissionregistrationv1.ValidatingWebhookConfiguration{*refusingBy("system", "webhook-service", 443)},
		}), "refuse.example.com"},
		{"configurations of manifests", "so may files, whichever option reads them", "webhook-service", miniapitest.WithManifests("testdata/webhooks/*.yaml"), "label.example.com"},
		{"configurations of a file system", "so may files that are embedded", "webhook-service", miniapitest.WithManifestsFS(testdata, "testdata/webhooks"), "label.example.com"},
		{"definition as an object", "webhooks that convert are called as well", "gears", miniapitest.WithObjects(definition), "gears.example.com"},
		{"definition of a manifest", "files name them, too", "gears", miniapitest.WithManifests("testdata/conversion"), "gears.example.com"},
		{"definition of a file system", "so do embedded files", "gears", miniapitest.WithManifestsFS(testdata, "testdata/conversion"), "gears.example.com"},
	} {
		all = append(all, test.option)
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), append(slices.Clone(common), test.option, written)...)
			if err == nil {
				_ = srv.Stop()
				t.Fatalf("want no start: %s. The service has no address, and the error must come before the failure of a write", test.reason)
			}
			for _, want := range []string{
				fmt.Sprintf("webhook %q can't be reached", test.webhook),
				fmt.Sprintf("WithWebhookService(%q, %q) makes the service the fixture's", "system", test.service),
			} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q because %s, got %v", want, test.reason, err)
				}
			}
		})
	}
	t.Run("services", func(t *testing.T) {
		t.Parallel()
		miniapitest.Start(t, append(all, miniapitest.WithWebhookService("system", "webhook-service"), miniapitest.WithWebhookService("system", "gears"), written)...)
	})
}

// A webhook is called at its service's address. Webhooks of one service are reached once.
func TestWebhookPlaces(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(elsewhere.Close)
	byURL := refusing(admissionregistrationv1.WebhookClientConfig{
		URL:      new(elsewhere.URL + "/anywhere"),
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: elsewhere.Certificate().Raw}),
	})
	byURL.TypeMeta = metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"}
	again := byURL.DeepCopy()
	again.Name, again.Webhooks[0].Name = "again", "again.example.com"
	miniapitest.Start(t, miniapitest.WithObjects(byURL, again), miniapitest.WithWebhookManifests(manifest(t, byURL)))
	if got := reached.Load(); got != 1 {
		t.Errorf("want one request to the one webhook of three configurations, got %d", got)
	}

	// The webhooks of any fixture have certificates for all services.
	other := miniapitest.Start(t).Webhook("/validate", miniapitest.AdmissionHandler(refuseBad))
	place, err := url.Parse(other.URL())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(place.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	configuration := refusingBy("default", "other", int32(port))
	configuration.Webhooks[0].ClientConfig.CABundle = other.CABundle()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "other"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
	}
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
	}{
		{"an address among the objects", "it may come after the configuration", []miniapitest.Option{miniapitest.WithObjects(configuration, service)}},
		{"a service that is placed", "the address is in the options alone", []miniapitest.Option{miniapitest.WithObjects(configuration), miniapitest.WithFlags("--webhook-service=default/other=" + place.Host)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), test.options...)
			if err != nil {
				t.Fatalf("though %s: %v", test.reason, err)
			}
			if _, err := srv.Client().CoreV1().ConfigMaps("default").Create(t.Context(), configMap("bad"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("want the webhook's refusal, got %v", err)
			}
			if err := srv.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An invalid caBundle is an error that names the field.
func TestCABundles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, bundle, want string
	}{
		{"not base64", "a PEM file was pasted as it is", "'-----BEGIN CERTIFICATE-----'", "illegal base64 data"},
		{"not a certificate", "what is left of another tool's template verifies nobody", "Cg==", `there is no certificate in "\n"`},
		{"not text", "an encoding may look like a number", "12345", "12345 is not text"},
	} {
		for _, install := range []struct {
			name, reason, file string
			option             func(...string) miniapitest.Option
			webhook            string
		}{
			{"WithWebhookManifests", "it reads webhooks", "testdata/webhooks/manifests.yaml", miniapitest.WithWebhookManifests, "MutatingWebhookConfiguration mutating: webhook \"label.example.com\""},
			{"WithManifests", "there may be webhooks among the rest", "testdata/webhooks/manifests.yaml", miniapitest.WithManifests, "MutatingWebhookConfiguration mutating: webhook \"label.example.com\""},
			{"WithCRDs", "a webhook that converts has a caBundle, too", "testdata/conversion/gears.yaml", miniapitest.WithCRDs, "CustomResourceDefinition gears.example.com: webhook \"gears.example.com\""},
		} {
			t.Run(test.name+" by "+install.name, func(t *testing.T) {
				t.Parallel()
				content, err := os.ReadFile(install.file)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(t.TempDir(), "bundled.yaml")
				bundled := regexp.MustCompile(`( *)clientConfig:\n`).ReplaceAllString(string(content), "${0}${1}  caBundle: "+test.bundle+"\n")
				if err := os.WriteFile(file, []byte(bundled), 0o600); err != nil {
					t.Fatal(err)
				}
				srv, err := miniapitest.New(t.Context(), install.option(file))
				if err == nil {
					_ = srv.Stop()
				}
				for _, want := range []string{"bundled.yaml, document 1: " + install.webhook + ": clientConfig.caBundle must be", test.want} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("want %q because %s, and %s, got %v", want, test.reason, install.reason, err)
					}
				}
			})
		}
	}
}

// If a configuration has a caBundle, only that counts, also for the fixture, which isn't trusted then.
func TestOtherAuthorities(t *testing.T) {
	t.Parallel()
	// The webhooks of any fixture have certificates for all services.
	elsewhere := miniapitest.Start(t).Webhook("/", http.NotFoundHandler())
	place, err := url.Parse(elsewhere.URL())
	if err != nil {
		t.Fatal(err)
	}
	stranger := miniapitest.Start(t).Webhook("/", http.NotFoundHandler()).CABundle()
	configuration := refusingBy("system", "webhook-service", 443)
	configuration.TypeMeta = metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"}
	configuration.Webhooks[0].ClientConfig.CABundle = stranger
	definition := parse[apiextensionsv1.CustomResourceDefinition](t, "testdata/conversion/gears.yaml")
	definition.Spec.Conversion.Webhook.ClientConfig.CABundle = stranger
	byURL := refusing(admissionregistrationv1.WebhookClientConfig{URL: new(elsewhere.URL()), CABundle: stranger})
	const (
		unknown = "certificate signed by unknown authority"
		advice  = "clientConfig.caBundle is of another authority: leave the caBundle out"
	)
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		want         string
		advised      bool
	}{
		{"configuration", "the service is the fixture's by the option", []miniapitest.Option{miniapitest.WithWebhookManifests(manifest(t, configuration))},
			`the service system/webhook-service is the fixture's`, true},
		{"object", "it is by another option", []miniapitest.Option{miniapitest.WithObjects(configuration), miniapitest.WithWebhookService("system", "webhook-service")},
			`the service system/webhook-service is the fixture's`, true},
		{"definition", "it is here, too", []miniapitest.Option{miniapitest.WithCRDs(manifest(t, definition))}, `the service system/gears is the fixture's`, true},
		{"service elsewhere", "a webhook elsewhere needs its own authority", []miniapitest.Option{
			miniapitest.WithObjects(configuration), miniapitest.WithFlags("--webhook-service=system/webhook-service=" + place.Host)}, unknown, false},
		{"port elsewhere", "so it is if only the port is placed", []miniapitest.Option{
			miniapitest.WithObjects(configuration), miniapitest.WithFlags("--webhook-service=system/webhook-service:443=" + place.Host)}, unknown, false},
		{"URL", "a URL may be any server's", []miniapitest.Option{miniapitest.WithObjects(byURL)}, unknown, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), append(test.options, miniapitest.WithWebhook("/", http.NotFoundHandler()))...)
			if err == nil {
				_ = srv.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), advice) != test.advised || strings.Contains(err.Error(), "WithWebhookService") {
				t.Errorf("want %q, and the advice %t alone because %s, got %v", test.want, test.advised, test.reason, err)
			}
		})
	}
}

// Starts that wait for webhooks don't keep other servers from starting.
func TestWaitingStarts(t *testing.T) {
	t.Parallel()
	many := 2*runtime.GOMAXPROCS(0) + 1 // more than can start at a time
	waiting, answer := make(chan struct{}, many), make(chan struct{})
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		waiting <- struct{}{}
		<-answer
	}))
	t.Cleanup(elsewhere.Close)
	slow := refusing(admissionregistrationv1.WebhookClientConfig{
		URL:      new(elsewhere.URL + "/slow"),
		CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: elsewhere.Certificate().Raw}),
	})
	slow.TypeMeta = metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"}

	const limit = 5 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var starts errgroup.Group
	for range many {
		starts.Go(func() error {
			srv, err := miniapitest.New(ctx, miniapitest.WithObjects(slow.DeepCopy()), miniapitest.WithReachTimeout(limit))
			if err != nil {
				return err
			}
			return srv.Stop()
		})
	}
	for i := range many {
		select {
		case <-waiting:
		case <-ctx.Done():
			t.Errorf("%d starts wait for their webhook, want %d: %v", i, many, context.Cause(ctx))
		}
	}
	miniapitest.Start(t)
	close(answer)
	if err := starts.Wait(); err != nil {
		t.Error(err)
	}
}
