package integration_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// hooksOfGadgets returns a webhook configuration with a rule for the resource gadgets of example.com.
func hooksOfGadgets(service *admissionregistrationv1.ServiceReference) *admissionregistrationv1.ValidatingWebhookConfiguration {
	h := validating("gadgets", nil, on("CREATE", "example.com/v1", "gadgets"))
	h.ClientConfig = admissionregistrationv1.WebhookClientConfig{Service: service}
	if service == nil {
		h.ClientConfig.URL = new("https://127.0.0.1:1/")
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: h.Name, ClientConfig: h.ClientConfig, Rules: h.Rules, SideEffects: h.SideEffects,
			AdmissionReviewVersions: h.AdmissionReviewVersions,
		}},
	}
}

// A webhook configuration may name unknown resources or services. As long as they are missing, each write of the
// configuration returns a warning.
func TestWebhookConfigurationWarnings(t *testing.T) {
	t.Parallel()
	const (
		noGroup    = `299 - webhooks[0].rules[0].apiGroups[0]: nothing serves group "example.com": the webhook isn't called for it`
		noResource = `299 - webhooks[0].rules[0].resources[0]: nothing serves "gadgets" in example.com/v1: the webhook isn't called for it`
		noService  = `299 - webhooks[0].clientConfig.service: there is no service hooks/gadgets: create the service, or give an address by --webhook-service`
		noPort     = `299 - webhooks[0].clientConfig.service: service hooks/gadgets has no port 8443: add the port, or give an address by --webhook-service`
	)
	type setup = func(testing.TB, *miniapitest.Server)
	defined := func(kinds ...string) setup {
		return func(t testing.TB, srv *miniapitest.Server) {
			for _, kind := range kinds {
				define(t, srv, resourceOf(kind), kind, "v1")
			}
		}
	}
	withService := func(t testing.TB, srv *miniapitest.Server) {
		define(t, srv, "gadgets", "Gadget", "v1")
		must(srv.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}}, metav1.CreateOptions{}))(t)
		must(srv.Client().CoreV1().Services("hooks").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "gadgets"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
		}, metav1.CreateOptions{}))(t)
	}
	aggregated := func(t testing.TB, srv *miniapitest.Server) {
		must(clusterResources(srv, apiRegistration, "apiservices").Create(t.Context(), object("apiregistration.k8s.io/v1", "APIService", "v1.example.com", map[string]any{
			"spec": map[string]any{
				"group": "example.com", "version": "v1", "groupPriorityMinimum": int64(1), "versionPriority": int64(1),
				"insecureSkipTLSVerify": true,
				"service":               map[string]any{"namespace": "hooks", "name": "gadgets"},
			},
		}), metav1.CreateOptions{}))(t)
	}
	service := &admissionregistrationv1.ServiceReference{Namespace: "hooks", Name: "gadgets"}
	otherPort := &admissionregistrationv1.ServiceReference{Namespace: "hooks", Name: "gadgets", Port: new(int32(8443))}
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		setup        setup
		service      *admissionregistrationv1.ServiceReference
		want         []string
	}{
		{"nothing of the group", "the warning shows a mistyped group at once", nil, defined(), nil, []string{noGroup}},
		{"another resource of the group", "the warning shows a mistyped resource at once", nil, defined("Widget"), nil,
			[]string{noResource}},
		{"defined", "the definition was created before the configuration", nil, defined("Widget", "Gadget"), nil, nil},
		{"of another server", "this server doesn't list the resources of another server", nil, aggregated, nil, nil},
		{"no service", "the name of the service may be mistyped", nil, defined("Gadget"), service, []string{noService}},
		{"service", "a service may have no endpoints for a time", nil, withService, service, nil},
		{"no port", "the service has another port", nil, withService, otherPort, []string{noPort}},
		{"service elsewhere", "an option has the address of the service",
			[]miniapitest.Option{placed("hooks", "gadgets", 443, 1)}, defined("Gadget"), service, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := miniapitest.Start(t, test.options...)
			test.setup(t, srv)
			client, seen := warned(t, srv)
			configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
			created := must(configurations.Create(t.Context(), hooksOfGadgets(test.service), metav1.CreateOptions{}))(t)
			if diff := cmp.Diff(test.want, seen.take()); diff != "" {
				t.Errorf("create: %s (-want +got):\n%s", test.reason, diff)
			}
			created.Labels = map[string]string{"changed": "true"}
			must(configurations.Update(t.Context(), created, metav1.UpdateOptions{}))(t)
			if diff := cmp.Diff(test.want, seen.take()); diff != "" {
				t.Errorf("update: %s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A MutatingWebhookConfiguration has the same warnings as a ValidatingWebhookConfiguration. There is no warning
// for built-in resources, unless --runtime-config turns them off, and none for a caBundle with certificates.
func TestMutatingWebhookConfigurationWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		change       change
		want         []string
	}{
		{
			"built in", "the rule is right except for a singular name", nil,
			on("CREATE", "*/v1", "pods", "pods/exec", "deployments", "customresourcedefinitions", "apiservices", "pod"),
			[]string{`299 - webhooks[0].rules[0].resources[5]: nothing serves "pod" in */v1: the webhook isn't called for it`},
		},
		{
			"definitions turned off", "no request for a definition can reach the webhook",
			[]miniapitest.Option{miniapitest.WithAPIs("apiextensions.k8s.io/v1=false")},
			on("CREATE", "apiextensions.k8s.io/v1", "customresourcedefinitions"),
			[]string{`299 - webhooks[0].rules[0].apiGroups[0]: nothing serves group "apiextensions.k8s.io": the webhook isn't called for it`},
		},
		{
			"caBundle", "the text was encoded in base64 twice", nil,
			at(admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/"), CABundle: []byte("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t")}),
			[]string{"299 - webhooks[0].clientConfig.caBundle: has no certificate in PEM, so each call of the webhook fails: give certificates in PEM, encoded in base64 once"},
		},
		{
			"caBundle in PEM", "its authority verifies the webhook", nil,
			at(admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/"), CABundle: trusted.pem}), nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client, seen := warned(t, miniapitest.Start(t, test.options...))
			h := mutating("built-in", nil, at(admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")}), test.change)
			must(client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: "built-in"},
				Webhooks: []admissionregistrationv1.MutatingWebhook{{
					Name: h.Name, Rules: h.Rules, SideEffects: h.SideEffects, AdmissionReviewVersions: h.AdmissionReviewVersions,
					ClientConfig: h.ClientConfig,
				}},
			}, metav1.CreateOptions{}))(t)
			if diff := cmp.Diff(test.want, seen.take()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
