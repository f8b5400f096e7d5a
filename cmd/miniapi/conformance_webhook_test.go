package main

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

// allowing returns a webhook that allows every request. The parameter "without" is an operation, such as DELETE: the
// responses to requests with this operation have no uid.
func allowing(without string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion string         `json:"apiVersion"`
			Kind       string         `json:"kind"`
			Request    map[string]any `json:"request"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil || review.Kind != "AdmissionReview" {
			http.Error(w, "want an AdmissionReview", http.StatusBadRequest)
			return
		}
		response := map[string]any{"uid": review.Request["uid"], "allowed": true}
		if review.Request["operation"] == without {
			delete(response, "uid")
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response})
	})
}

// The exit code is 0 if no case fails, 1 if a case fails, and 2 if the flags are wrong or the webhook can't be reached.
func TestConformanceWebhook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := func(handler http.Handler) (string, string) {
		server := httptest.NewTLSServer(handler)
		t.Cleanup(server.Close)
		ca := filepath.Join(dir, filepath.Base(server.URL)+".crt")
		if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
		return server.URL, ca
	}
	right, ca := url(allowing(""))
	wrong, wrongCA := url(allowing("DELETE"))
	const closed = "https://127.0.0.1:1" // port 1, because another program may take the port of a server that has ended
	configuration := filepath.Join(dir, "configuration.yaml")
	if err := os.WriteFile(configuration, []byte(gearsConfiguration), 0o600); err != nil {
		t.Fatal(err)
	}
	definition := filepath.Join(dir, "definition.yaml")
	if err := os.WriteFile(definition, []byte(gearsDefinition), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, reason   string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"right", "no case fails",
			[]string{"--url", right, "--ca", ca, "--only", "response.*,request.*,tls.*", "--seed", "7"}, 0, " 0 failed",
			"--seed 7 repeats them"},
		{"wrong", "the uid is missing in deletions", []string{"--url", wrong, "--ca", wrongCA, "--only", "response.*"},
			1, "failed response.uid", "1 of 17 cases failed"},
		{"custom resource", "objects follow the schema of the definition",
			[]string{"--url", right, "-f", configuration, "--apply", definition, "--only", "request.*,config.*"}, 0,
			"passed config.ownNamespace", "requests for 1 webhooks"},
		{"uncovered", "no server has the resource", []string{"--url", right, "-f", configuration, "--only", "config.*"},
			0, "", "no input for gears"},
		{"authority", "no authority of the system has signed the certificate",
			[]string{"--url", right, "--only", "tls.*"}, 1, "failed tls.chain", "1 of 7 cases failed"},
		{"list", "a list needs no webhook", []string{"--list", "--only", "tls.name"}, 0, "tls.name", ""},
		{"none", "no flag names a webhook", nil, cli.ExitUsage, "", "one of --url, -f and --configuration"},
		{"no case", "no identifier matches", []string{"--url", right, "--only", "tls.*,none.*"}, cli.ExitUsage, "",
			`--only "none.*": no case has such an identifier`},
		{"both", "the flags name two configurations", []string{"-f", configuration, "--configuration", "gears"},
			cli.ExitUsage, "", "give only one of them"},
		{"address", "the value isn't a URL", []string{"--url", "localhost:9443"}, cli.ExitUsage, "", `--url "localhost:9443"`},
		{"not started", "no process listens", []string{"--url", closed}, cli.ExitUsage, "", closed + " can't be reached: "},
		{"not started, configuration alone", "no case calls the webhook",
			[]string{"--url", closed, "-f", configuration, "--only", "config.*"}, 0, "", "no input for gears"},
		{"service", "a file doesn't say where a service is", []string{"-f", configuration}, cli.ExitUsage, "",
			"give --url, the address at which"},
		{"empty", "the file has no configuration", []string{"-f", definition, "--url", right}, cli.ExitUsage, "",
			"must have a MutatingWebhookConfiguration or a ValidatingWebhookConfiguration"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", append([]string{"conformance", "webhook"}, tc.args...)...).exit(t)
			if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("%s: want exit code %d, %q and %q, got %d, %q and %q", tc.reason, tc.code, tc.stdout, tc.stderr, code, stdout, stderr)
			}
		})
	}
}

// With --configuration, the command judges a webhook configuration of a cluster, with the custom resource definitions
// of the cluster. --url is the address at which the command calls the webhook.
func TestConformanceWebhookInCluster(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "--apply", written(t, "gears.yaml", gearsDefinition+"\n---\n"+gearsConfiguration))
	webhook := httptest.NewTLSServer(allowing(""))
	t.Cleanup(webhook.Close)
	code, stdout, stderr := start(t, "miniapi", "conformance", "webhook", "--kubeconfig", server.kubeconfig(t), "--configuration", "gears",
		"--url", webhook.URL, "--only", "request.*,response.*,config.*").exit(t)
	if code != 0 || !strings.Contains(stdout, " 0 failed") || !strings.Contains(stderr, "requests for 1 webhooks") || strings.Contains(stderr, "no input") {
		t.Errorf("got exit code %d, %q and %q", code, stdout, stderr)
	}
	code, _, stderr = start(t, "miniapi", "conformance", "webhook", "--kubeconfig", server.kubeconfig(t), "--configuration", "none").exit(t)
	if want := "neither a mutating nor a validating configuration"; code != cli.ExitUsage || !strings.Contains(stderr, want) {
		t.Errorf("want exit code %d and %q, got %d and %q", cli.ExitUsage, want, code, stderr)
	}
}

// If a webhook's configuration names a service, the webhook is called through the API server. If the service doesn't
// exist, the command reports one error in place of an error for each case.
func TestConformanceWebhookByService(t *testing.T) {
	t.Parallel()
	server, config := serve(t, "--apply", written(t, "gears.yaml", gearsDefinition+"\n---\n"+gearsConfiguration))
	webhook := httptest.NewTLSServer(allowing(""))
	t.Cleanup(webhook.Close)
	judge := func() (int, string, string) {
		return start(t, "miniapi", "conformance", "webhook", "--kubeconfig", server.kubeconfig(t), "--configuration", "gears", "--only", "request.*,response.*,tls.*").exit(t)
	}
	code, _, stderr := judge()
	if want := `the API server can't call the service gears-system/gears: services "gears" not found`; code != cli.ExitUsage || !strings.Contains(stderr, want) || !strings.Contains(stderr, "--url") {
		t.Errorf("want exit code %d and %q, got %d and %q", cli.ExitUsage, want, code, stderr)
	}
	c, namespace, port := client(t, config), "gears-system", int32(webhook.Listener.Addr().(*net.TCPAddr).Port)
	meta := metav1.ObjectMeta{Name: "gears", Labels: map[string]string{discoveryv1.LabelServiceName: "gears"}}
	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "https", Port: 443}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}}},
		Ports:     []discoveryv1.EndpointPort{{Name: new("https"), Port: &port}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := judge()
	if code != 0 || !strings.Contains(stdout, " 0 failed") || !strings.Contains(stdout, "passed response.uid") && !strings.Contains(stderr, "passed  response.uid") || !strings.Contains(stderr, "skipped tls.chain") {
		t.Errorf("want no failed case, and those about certificates skipped, got exit code %d, %q and %q", code, stdout, stderr)
	}
}

// If --url is the address of a forwarded port, the cases still check the webhook's certificate for the name of its
// service.
func TestConformanceWebhookForwarded(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "--apply", written(t, "gears.yaml", gearsDefinition+"\n---\n"+gearsConfiguration))
	judge := func(service string) (int, string, string) {
		certs := t.TempDir()
		if code, _, stderr := start(t, "miniapi", "cert", service, "--dir", certs, "--data-dir", t.TempDir()).exit(t); code != 0 {
			t.Fatal(stderr)
		}
		certificate, err := tls.LoadX509KeyPair(filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		webhook := httptest.NewUnstartedServer(allowing(""))
		webhook.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		webhook.StartTLS()
		t.Cleanup(webhook.Close)
		return start(t, "miniapi", "conformance", "webhook", "--kubeconfig", server.kubeconfig(t), "--configuration", "gears",
			"--url", webhook.URL, "--ca", filepath.Join(certs, "ca.crt"), "--only", "tls.chain,tls.name").exit(t)
	}
	if code, stdout, stderr := judge("gears-system/gears"); code != 0 || !strings.Contains(stdout, "2 passed, 0 failed, 0 skipped") {
		t.Errorf("want a certificate for the service to pass, got exit code %d, %q and %q", code, stdout, stderr)
	}
	if code, stdout, _ := judge("gears-system/wheels"); code != 1 || !strings.Contains(stdout, "failed tls.name") || !strings.Contains(stdout, "for the name gears.gears-system.svc") {
		t.Errorf("want a certificate for another service to fail, got exit code %d and %q", code, stdout)
	}
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(fmt.Errorf("writing %s: %w", name, err))
	}
	return file
}

const gearsConfiguration = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: gears}
webhooks:
- name: gears.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {namespace: gears-system, name: gears, path: /validate}}
  rules: [{operations: [CREATE, UPDATE, DELETE], apiGroups: [example.com], apiVersions: [v1], resources: [gears]}, {operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
`

const gearsDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gears, kind: Gear}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [teeth, material]
            properties:
              teeth: {type: integer, minimum: 3, maximum: 9}
              material: {type: string, enum: [steel, brass]}
              label: {type: string, maxLength: 3}
`
