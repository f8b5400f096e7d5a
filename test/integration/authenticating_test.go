package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/miniapi-dev/miniapi/pkg/inprocess"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
	"github.com/miniapi-dev/miniapi/pkg/server"
)

// credentials records the credentials in requests to a webhook.
type credentials struct {
	mu   sync.Mutex
	seen []string
}

func (c *credentials) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := "nobody"
		if user, password, basic := r.BasicAuth(); basic {
			shown = user + " with password " + password
		} else if token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); bearer {
			shown = "token " + token
		}
		if certificates := r.TLS.PeerCertificates; len(certificates) > 0 {
			shown = "certificate of " + certificates[0].Subject.CommonName
		}
		c.mu.Lock()
		c.seen = append(c.seen, shown)
		c.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (c *credentials) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

// configurationFile is a file for --admission-control-config-file. Its placeholders are the versions of the file and of
// the configurations in it.
const configurationFile = `
apiVersion: %s
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionWebhook
  configuration:
    apiVersion: %s
    kind: %s
    kubeConfigFile: %q
- name: MutatingAdmissionWebhook
  configuration:
    apiVersion: %[2]s
    kind: %[3]s
    kubeConfigFile: %[5]q
`

var (
	configurationV1       = []any{"apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1", "WebhookAdmissionConfiguration"}
	configurationV1alpha1 = []any{"apiserver.k8s.io/v1alpha1", "apiserver.config.k8s.io/v1alpha1", "WebhookAdmission"}
)

// write writes a file and returns its path.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	ok(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// kubeconfig writes a kubeconfig with users, in the form that the admission plugins for webhooks read.
func kubeconfig(t testing.TB, current string, users map[string]*clientcmdapi.AuthInfo) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.AuthInfos = users
	if current != "" {
		config.Contexts["current"], config.CurrentContext = &clientcmdapi.Context{AuthInfo: current}, "current"
	}
	return write(t, "kubeconfig", string(must(clientcmd.Write(*config))(t)))
}

func configFile(path string) miniapitest.Option {
	return inprocess.WithServerOptions(func(o *server.Options) { o.Admission.ConfigFile = path })
}

// The server sends a webhook the credentials that the kubeconfig has for the webhook's host. For a service, that is its
// DNS name, with the port unless it is 443. For a URL, it is the host and the port.
func TestAuthenticatingToWebhooks(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	var shown credentials
	listening := own.serve(t, shown.handler(allow()), "localhost", "webhook1.ns1.svc", "webhook2.ns1.svc", "other.ns2.svc")
	client := own.issue(t, "apiserver")
	url := fmt.Sprintf("localhost:%d", listening)
	file := kubeconfig(t, "", map[string]*clientcmdapi.AuthInfo{
		"webhook1.ns1.svc":      {ClientCertificateData: client.cert, ClientKeyData: client.key},
		"webhook1.ns1.svc:8443": {Token: "of-port-8443"},
		"*.ns1.svc":             {Username: "name", Password: "secret"},
		"*.ns1.svc:9443":        {Token: "of-port-9443"},
		"*.svc":                 {Token: "of-all-services"},
		url:                     {Token: "of-the-url"},
		"*":                     {Token: "default"},
	})
	service := func(namespace, name string, port *int32) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name, Port: port}}
	}
	cases := []struct {
		name, reason string
		config       admissionregistrationv1.WebhookClientConfig
		want         string
	}{
		{"service", "443 is left out", service("ns1", "webhook1", nil), "certificate of apiserver"},
		{"service of port 443", "443 is left out, given or not", service("ns1", "webhook1", port(443)), "certificate of apiserver"},
		{"service of another port", "the port is part of the name", service("ns1", "webhook1", port(8443)), "token of-port-8443"},
		{"wildcard", "* stands for the segment before", service("ns1", "webhook2", nil), "name with password secret"},
		{"wildcard of another port", "the port is part of the name", service("ns1", "webhook2", port(9443)), "token of-port-9443"},
		{"port that nothing is said of", "the name lacks the port only if the port is 443",
			service("ns1", "webhook2", port(8443)), "token default"},
		{"wildcard of two segments", "* stands for the first segments", service("ns2", "other", nil), "token of-all-services"},
		{"default", "* alone stands for all hosts", service("ns2", "other", port(8443)), "token default"},
		{"url", "host and port are the name",
			admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, URL: new("https://" + url)},
			"token of-the-url"},
		{"url with a path", "the path is no part of the name",
			admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, URL: new("https://" + url + "/a/b")},
			"token of-the-url"},
	}
	for _, version := range []struct {
		name, reason string
		arguments    []any
	}{
		{"apiserver.config.k8s.io/v1", "v1 is the present version of the file", configurationV1},
		{"apiserver.k8s.io/v1alpha1", "files in v1alpha1 still exist", configurationV1alpha1},
		{"v1 with v1alpha1 in it", "the plugin's part may have another version than the file",
			append(configurationV1[:1:1], configurationV1alpha1[1:]...)},
		{"v1alpha1 with v1 in it", "the plugin's part may have a newer version than the file",
			append(configurationV1alpha1[:1:1], configurationV1[1:]...)},
	} {
		t.Run(version.name, func(t *testing.T) {
			options := []miniapitest.Option{configFile(write(t, "admission.yaml", fmt.Sprintf(configurationFile, append(slices.Clone(version.arguments), file, file)...)))}
			for _, tc := range cases {
				if s := tc.config.Service; s != nil {
					options = append(options, placed(s.Namespace, s.Name, 0, listening))
				}
			}
			srv := miniapitest.Start(t, options...)
			for _, tc := range cases {
				t.Run(tc.name, func(t *testing.T) {
					install(t, srv, mutating("mutate", nil, at(tc.config)), validating("validate", nil, at(tc.config)))
					ok(t, createThing(t, srv))
					if diff := cmp.Diff([]string{tc.want, tc.want}, shown.take()); diff != "" {
						t.Errorf("%s, and %s (-want +got):\n%s", tc.reason, version.reason, diff)
					}
				})
			}
		})
	}
}

// The plugins for mutating and for validating webhooks have separate kubeconfigs. A webhook without its own credentials
// gets the credentials of the kubeconfig's current context, if there is one.
func TestAuthenticatingByPlugin(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	var shown credentials
	listening := own.serve(t, shown.handler(allow()), "localhost")
	elsewhere := map[string]*clientcmdapi.AuthInfo{"elsewhere.example.com": {Token: "elsewhere"}, "me": {Token: "current"}}
	for _, tc := range []struct {
		name, reason         string
		validating, mutating string
		want                 []string
	}{
		{
			"one each", "the mutating plugin is called first",
			kubeconfig(t, "", map[string]*clientcmdapi.AuthInfo{"*": {Token: "validating"}}),
			kubeconfig(t, "", map[string]*clientcmdapi.AuthInfo{"*": {Token: "mutating"}}),
			[]string{"token mutating", "token validating"},
		},
		{"none", "a webhook doesn't get the credentials of other webhooks", kubeconfig(t, "", elsewhere),
			kubeconfig(t, "me", elsewhere), []string{"token current", "nobody"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := miniapitest.Start(t, configFile(write(t, "admission.yaml", fmt.Sprintf(configurationFile, append(slices.Clone(configurationV1), tc.validating, tc.mutating)...))))
			here := at(admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, URL: new(fmt.Sprintf("https://localhost:%d", listening))})
			install(t, srv, mutating("mutate", nil, here), validating("validate", nil, here))
			ok(t, createThing(t, srv))
			if diff := cmp.Diff(tc.want, shown.take()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	t.Run("without a file", func(t *testing.T) {
		srv := miniapitest.Start(t)
		install(t, srv, validating("validate", nil, at(admissionregistrationv1.WebhookClientConfig{CABundle: own.pem, URL: new(fmt.Sprintf("https://localhost:%d", listening))})))
		ok(t, createThing(t, srv))
		if diff := cmp.Diff([]string{"nobody"}, shown.take()); diff != "" {
			t.Errorf("a server shows nothing that it wasn't told to show (-want +got):\n%s", diff)
		}
	})
}

// The configuration of a plugin may be in a separate file. If the server can't read a configuration, the start fails
// with the reason.
func TestAdmissionConfigurationFile(t *testing.T) {
	t.Parallel()
	credentialsFile := kubeconfig(t, "", map[string]*clientcmdapi.AuthInfo{"*": {Token: "default"}})
	plugin := write(t, "plugin.yaml", fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\nkubeConfigFile: %q\n", credentialsFile))
	byPath := func(path string) string {
		return "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- name: ValidatingAdmissionWebhook\n  path: " + path + "\n"
	}
	for _, tc := range []struct{ name, reason, content, want string }{
		{"path", "the configuration is in another file", byPath(plugin), ""},
		{"path that isn't there", "the file doesn't exist", byPath("/missing.yaml"), "open /missing.yaml: no such file or directory"},
		{"relative kubeconfig", "the path has no base",
			fmt.Sprintf(configurationFile, append(slices.Clone(configurationV1), "kubeconfig", "kubeconfig")...),
			"kubeConfigFile"},
		{"kubeconfig that isn't there", "there are no credentials",
			fmt.Sprintf(configurationFile, append(slices.Clone(configurationV1), "/missing", "/missing")...),
			"/missing"},
		{"another kind", "a ConfigMap is no admission configuration", "apiVersion: v1\nkind: ConfigMap\n",
			"no kind \"ConfigMap\" is registered"},
		{"unknown field", "an unknown field may be misspelt", byPath(plugin) + "  pth: a\n", `unknown field "plugins[0].pth"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), configFile(write(t, "admission.yaml", tc.content)))
			if err == nil {
				ok(t, srv.Stop())
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: want %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}
