package integration_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// These plugins read manifests from files.
const (
	mutatingWebhooks   = "MutatingAdmissionWebhook"
	validatingWebhooks = "ValidatingAdmissionWebhook"
	mutatingPolicies   = "MutatingAdmissionPolicy"
	validatingPolicies = "ValidatingAdmissionPolicy"
)

// statics maps the name of each plugin to the plugin's folder of manifests.
type statics map[string]string

func newStatics(t testing.TB) statics {
	t.Helper()
	folders := statics{}
	for _, plugin := range []string{mutatingWebhooks, validatingWebhooks, mutatingPolicies, validatingPolicies} {
		folders[plugin] = t.TempDir()
	}
	return folders
}

// write writes a file to a plugin's folder in one step, so that the server never reads an incomplete file.
func (s statics) write(t testing.TB, plugin, name, content string) {
	t.Helper()
	path := filepath.Join(s[plugin], name)
	ok(t, os.WriteFile(path+".tmp", []byte(content), 0o600))
	ok(t, os.Rename(path+".tmp", path))
}

// option returns an option that gives the server an admission configuration with the folders of manifests.
func (s statics) option(t testing.TB) miniapitest.Option {
	t.Helper()
	var file strings.Builder
	file.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n")
	for plugin, dir := range s {
		kind := plugin + "Configuration"
		if strings.HasSuffix(plugin, "Webhook") {
			kind = "WebhookAdmissionConfiguration"
		}
		fmt.Fprintf(&file, "- name: %s\n  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: %s, staticManifestsDir: %q}\n", plugin, kind, dir)
	}
	return configFile(write(t, "admission.yaml", file.String()))
}

// staticWebhook returns the manifest of a webhook configuration with one webhook and rules.
func staticWebhook(kind, name, clientConfig, rules string) string {
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: %s.static.k8s.io}
webhooks:
- name: %[2]s.example.com
  clientConfig: %[3]s
  rules: [%[4]s]
  admissionReviewVersions: [v1]
  sideEffects: None
`, kind, name, clientConfig, rules)
}

// refusing returns the manifest of a policy with a binding. The policy refuses objects with a certain name.
func refusing(name, rules string) string {
	return fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-%[1]s.static.k8s.io}
spec:
  matchConstraints: {resourceRules: [%[2]s]}
  validations: [{expression: "request.name != '%[1]s'", message: nothing is called %[1]s}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-%[1]s.static.k8s.io}
spec: {policyName: no-%[1]s.static.k8s.io, validationActions: [Deny]}
`, name, rules)
}

// refusedBy returns the error with which a policy refuses an object. The function refusing makes the policy.
func refusedBy(resource, name string) refused {
	return refused{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, fmt.Sprintf(
		`%s "%s" is forbidden: ValidatingAdmissionPolicy 'no-%[2]s.static.k8s.io' with binding 'no-%[2]s.static.k8s.io' denied request: nothing is called %[2]s`, resource, name)}
}

// labelling returns the manifest of a policy that adds a label to every object that it matches. The manifest is a list
// in JSON.
func labelling(name, rules string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "List", "items": [{
  "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": "%[1]s.static.k8s.io"},
  "spec": {"matchConstraints": {"resourceRules": [%[2]s]}, "reinvocationPolicy": "Never", "mutations": [{
    "patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{metadata: Object.metadata{labels: {'%[1]s': 'static'}}}"}
  }]}
}, {
  "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "%[1]s.static.k8s.io"},
  "spec": {"policyName": "%[1]s.static.k8s.io"}
}]}`, name, rules)
}

// These are the rules in the manifests. They are JSON, which is also YAML.
const (
	onConfigMaps    = `{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}`
	onNamespaces    = `{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"], "operations": ["CREATE"]}`
	onConfiguration = `{"apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}`
)

// Webhooks and policies in files apply to the first request, also to requests of the server itself. They run before the
// webhooks and policies in the API.
func TestStaticManifests(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	var recorder miniapitest.Recorder
	handlers := http.NewServeMux()
	handlers.Handle("/static-mutate", recorder.Handler(stamp("z")))
	handlers.Handle("/static-validate", recorder.Handler(allow()))
	listening := own.serve(t, handlers, "localhost")
	clientConfig := func(path string) string {
		return fmt.Sprintf(`{"url": "https://localhost:%d/%s", "caBundle": "%s"}`, listening, path, base64.StdEncoding.EncodeToString(own.pem))
	}
	folders := newStatics(t)
	folders.write(t, mutatingWebhooks, "z.yaml", staticWebhook("MutatingWebhookConfiguration", "z", clientConfig("static-mutate"), onConfigMaps))
	folders.write(t, validatingWebhooks, "z.yml", staticWebhook("ValidatingWebhookConfiguration", "z", clientConfig("static-validate"), onConfigMaps))
	folders.write(t, mutatingPolicies, "z.json", labelling("z", onConfigMaps+","+onNamespaces))
	folders.write(t, validatingPolicies, "z.yaml", refusing("evil", onConfigMaps))
	folders.write(t, validatingPolicies, "README.md", "Not a manifest.")
	srv := miniapitest.Start(t, folders.option(t))
	client := srv.Client()
	want := map[string]string{"z": "static"}
	labels := func(o metav1.Object) map[string]string {
		return map[string]string{"z": o.GetLabels()["z"]}
	}

	recorder.Reset() // forget the reviews of the server's own ConfigMaps
	created := must(client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), thing(), metav1.CreateOptions{}))(t)
	if diff := cmp.Diff([]string{"static-mutate", "static-validate"}, called(&recorder)); diff != "" {
		t.Errorf("calls for the first request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, labels(created)); diff != "" || stamps(created) != "z" {
		t.Errorf("want the labels and stamps of the first request's object to be static, got %v", created)
	}
	if diff := cmp.Diff(refusedBy("configmaps", "evil"), statusOf(createConfigMap(t.Context(), client, "evil", map[string]string{"a": "1"}))); diff != "" {
		t.Errorf("refusal (-want +got):\n%s", diff)
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		namespace := must(client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}))(t)
		if diff := cmp.Diff(want, labels(namespace)); diff != "" {
			t.Errorf("labels of the namespace %s, which the server made (-want +got):\n%s", name, diff)
		}
	}

	t.Run("before those of the API", func(t *testing.T) {
		prepare(t, client, false)
		dynamic := install(t, srv, mutating("a", answering(func(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			if diff := cmp.Diff("z", stamps(decode[corev1.ConfigMap](t, request.Object.Raw))); diff != "" {
				t.Errorf("stamps of what the API's webhook is sent (-want +got):\n%s", diff)
			}
			return miniapitest.Allowed()
		})))
		must(client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), thing(), metav1.CreateOptions{}))(t)
		if diff := cmp.Diff([]string{"a"}, called(dynamic)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
	t.Run("unseen by the API", func(t *testing.T) {
		for _, c := range configurable {
			list := must(clusterResources(srv, configurationAPI, resourceOf(c.kind)).List(t.Context(), metav1.ListOptions{}))(t)
			if len(list.Items) > 0 {
				t.Errorf("%s: %s: want none in the API, got %v", c.kind, c.reason, list.Items)
			}
		}
	})
}

// configurable has an object of each kind that configures admission. The objects have no effect.
var configurable = []struct {
	kind, reason string
	fields       map[string]any
}{
	{"ValidatingWebhookConfiguration", "a webhook can refuse everything", nil},
	{"MutatingWebhookConfiguration", "a webhook can change everything", nil},
	{"ValidatingAdmissionPolicy", "a new policy has an effect if its binding already exists", policySpec(false, matching("example.com"))},
	{"ValidatingAdmissionPolicyBinding", "a new binding puts its policy in force", bindingSpec("other", false)},
	{"MutatingAdmissionPolicy", "a new policy has an effect if its binding already exists", policySpec(true, matching("example.com"))},
	{"MutatingAdmissionPolicyBinding", "a new binding puts its policy in force", bindingSpec("other", true)},
}

// Webhooks and policies in files also apply to webhook configurations and policies in the API. The API can't change the
// webhooks and policies in files.
func TestStaticManifestsGuardConfiguration(t *testing.T) {
	t.Parallel()
	own, err := newAuthority()
	ok(t, err)
	var recorder miniapitest.Recorder
	listening := own.serve(t, recorder.Handler(allow()), "localhost")
	folders := newStatics(t)
	folders.write(t, validatingWebhooks, "guard.yaml", staticWebhook("ValidatingWebhookConfiguration", "guard",
		fmt.Sprintf(`{"url": "https://localhost:%d/guard", "caBundle": "%s"}`, listening, base64.StdEncoding.EncodeToString(own.pem)), onConfiguration))
	folders.write(t, mutatingPolicies, "guard.json", labelling("guarded", onConfiguration))
	folders.write(t, validatingPolicies, "guard.yaml", refusing("evil", onConfiguration))
	srv := miniapitest.Start(t, folders.option(t))
	for _, c := range configurable {
		client := clusterResources(srv, configurationAPI, resourceOf(c.kind))
		recorder.Reset()
		created := must(client.Create(t.Context(), object(configurationAPI, c.kind, "good", c.fields), metav1.CreateOptions{}))(t)
		if label := created.GetLabels()["guarded"]; label != "static" {
			t.Errorf("%s: %s: want the policy to label it, got the labels %v", c.kind, c.reason, created.GetLabels())
		}
		_, err := client.Create(t.Context(), object(configurationAPI, c.kind, "evil", c.fields), metav1.CreateOptions{})
		if diff := cmp.Diff(refusedBy(resourceOf(c.kind)+".admissionregistration.k8s.io", "evil"), statusOf(err)); diff != "" {
			t.Errorf("%s: %s: refusal (-want +got):\n%s", c.kind, c.reason, diff)
		}
		must(client.Patch(t.Context(), "good", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"1"}}}`), metav1.PatchOptions{}))(t)
		ok(t, client.Delete(t.Context(), "good", metav1.DeleteOptions{}))
		var operations []admissionv1.Operation
		for _, review := range recorder.Reviews() {
			operations = append(operations, review.Request.Operation)
		}
		if diff := cmp.Diff([]admissionv1.Operation{"CREATE", "UPDATE", "DELETE"}, operations); diff != "" {
			t.Errorf("%s: %s: reviews (-want +got):\n%s", c.kind, c.reason, diff)
		}
	}
}

// The API refuses a webhook configuration or policy whose name is reserved for files.
func TestStaticNamesAreReserved(t *testing.T) {
	t.Parallel()
	srv := miniapitest.Start(t, miniapitest.Legacy())
	for _, groupVersion := range []string{configurationAPI, "admissionregistration.k8s.io/v1beta1"} {
		for _, c := range configurable {
			if groupVersion != configurationAPI && !strings.HasSuffix(c.kind, "WebhookConfiguration") {
				continue
			}
			_, err := clusterResources(srv, groupVersion, resourceOf(c.kind)).Create(t.Context(), object(groupVersion, c.kind, "my.static.k8s.io", c.fields), metav1.CreateOptions{})
			want := refused{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, c.kind + `.admissionregistration.k8s.io "my.static.k8s.io" is invalid: metadata.name: Invalid value: "my.static.k8s.io": ` +
				`names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API`}
			if diff := cmp.Diff(want, statusOf(err)); diff != "" {
				t.Errorf("%s %s: refusal (-want +got):\n%s", groupVersion, c.kind, diff)
			}
		}
	}
}

// If the server can't read a manifest, or if a manifest is invalid, the start fails with the name of the file.
func TestStaticManifestsThatAreWrong(t *testing.T) {
	t.Parallel()
	const url = `{"url": "https://localhost/"}`
	validating := func(clientConfig string) string {
		return staticWebhook("ValidatingWebhookConfiguration", "a", clientConfig, onConfigMaps)
	}
	for _, test := range []struct {
		name, reason    string
		plugin, content string
		want            string
	}{
		{"name", "the suffix of the name shows that a file has the configuration", validatingWebhooks,
			strings.ReplaceAll(validating(url), ".static.k8s.io", ""), `must have a name ending with ".static.k8s.io"`},
		{"two of a name", "each configuration must have a different name", validatingWebhooks,
			validating(url) + "---\n" + validating(url), `duplicate name "a.static.k8s.io"`},
		{"other kind", "each plugin reads its own kinds", mutatingWebhooks, validating(url), "must be a MutatingWebhookConfiguration"},
		{"other version", "manifests are v1", validatingWebhooks,
			strings.Replace(validating(url), "k8s.io/v1", "k8s.io/v1beta1", 1),
			`no kind "ValidatingWebhookConfiguration" is registered for version "admissionregistration.k8s.io/v1beta1"`},
		{"service", "services may not exist when the server starts", validatingWebhooks,
			validating(`{"service": {"namespace": "n", "name": "s"}}`), "clientConfig.service is not supported"},
		{"invalid", "manifests are validated like objects in the API", validatingWebhooks,
			strings.Replace(validating(url), "None", "Some", 1), `webhooks[0].sideEffects: Unsupported value: "Some"`},
		{"unknown field", "an unknown field may be misspelt", validatingWebhooks,
			strings.Replace(validating(url), "sideEffects", "sideeffects", 1),
			`unknown field "webhooks[0].sideeffects"`},
		{"twice the same field", "either value may be meant", validatingWebhooks,
			validating(url) + "  sideEffects: None\n", `key "sideEffects" already set`},
		{"no YAML", "the content can't be read", validatingWebhooks, "{", "yaml"},
		{"parameters", "parameters are objects of the API", validatingPolicies,
			strings.Replace(refusing("x", onConfigMaps), "spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n", 1),
			"spec.paramKind is not supported"},
		{"expression", "an expression must compile", validatingPolicies,
			strings.Replace(refusing("x", onConfigMaps), "request.name != 'x'", "request.nothing", 1),
			"undefined field 'nothing'"},
		{"policy of the API", "a binding in a file can only name a policy in a file", validatingPolicies,
			strings.Replace(refusing("x", onConfigMaps), "policyName: no-x.static.k8s.io", "policyName: x", 1),
			`spec.policyName "x" must end with ".static.k8s.io"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folders := newStatics(t)
			folders.write(t, test.plugin, "wrong.yaml", test.content)
			file := filepath.Join(folders[test.plugin], "wrong.yaml")
			srv, err := miniapitest.New(t.Context(), folders.option(t))
			if err == nil {
				ok(t, srv.Stop())
			}
			if message := fmt.Sprint(err); !strings.Contains(message, test.want) || !strings.Contains(message, file) {
				t.Errorf("%s: want %q of %s, got %v", test.reason, test.want, file, err)
			}
		})
	}
	for _, test := range []struct{ name, reason, dir, want string }{
		{"relative", "a server may be started anywhere", "manifests",
			`staticManifestsDir: Invalid value: "manifests": must be an absolute file path`},
		{"missing", "the path may be misspelt", "/missing",
			`staticManifestsDir: Invalid value: "/missing": unable to read: stat /missing: no such file or directory`},
	} {
		t.Run(test.name+" folder", func(t *testing.T) {
			t.Parallel()
			for plugin := range newStatics(t) {
				srv, err := miniapitest.New(t.Context(), statics{plugin: test.dir}.option(t))
				if err == nil {
					ok(t, srv.Stop())
				}
				if !strings.Contains(fmt.Sprint(err), test.want) {
					t.Errorf("%s: %s: want %q, got %v", plugin, test.reason, test.want, err)
				}
			}
		})
	}
}

// When files change, the server uses the new content of all files of a plugin. If one file is invalid, the old content
// of all files stays. The test isn't parallel, because all tests of the process share the metrics.
func TestStaticManifestsThatChange(t *testing.T) {
	folders := newStatics(t)
	good := refusing("first", onConfigMaps)
	folders.write(t, validatingPolicies, "a.yaml", good)
	srv := miniapitest.Start(t, folders.option(t))
	const (
		reloads = "apiserver_manifest_admission_config_controller_automatic_reloads_total"
		info    = "apiserver_manifest_admission_config_controller_last_config_info"
	)
	reloaded := func(status string) []string {
		return samples(t, srv, `plugin="`+validatingPolicies+`",status="`+status, reloads)
	}
	inForce := func(names ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			var errs []error
			for _, name := range []string{"first", "second"} {
				want := ""
				for _, n := range names {
					if n == name {
						want = refusedBy("configmaps", name).Message
					}
				}
				_, err := srv.Client().CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name)}, metav1.CreateOptions{DryRun: dry})
				if diff := cmp.Diff(want, statusOf(err).Message); diff != "" {
					errs = append(errs, fmt.Errorf("refusal of %s (-want +got):\n%s", name, diff))
				}
			}
			return errors.Join(errs...)
		}
	}
	ok(t, inForce("first")(t.Context()))
	if diff := cmp.Diff([]string(nil), reloaded("failure")); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
	// The hash in the metric covers all files. A zero byte comes after the content of each file.
	if hash := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(good+"\x00"))); len(samples(t, srv, `hash="`+hash+`",plugin="`+validatingPolicies, info)) != 1 {
		t.Errorf("want the hash %s, got %s", hash, samples(t, srv, validatingPolicies, info))
	}

	folders.write(t, validatingPolicies, "b.yaml", refusing("second", onConfigMaps))
	eventually(t, inForce("first", "second"))

	ok(t, os.Remove(filepath.Join(folders[validatingPolicies], "a.yaml")))
	eventually(t, inForce("second"))

	before := reloaded("success")
	folders.write(t, validatingPolicies, "a.yaml", strings.Replace(good, "request.name", "request.nothing", 1))
	eventually(t, func(context.Context) error {
		if len(reloaded("failure")) == 0 {
			return errors.New("the metrics count no failed reload")
		}
		return nil
	})
	ok(t, inForce("second")(t.Context()))
	if diff := cmp.Diff(before, reloaded("success")); diff != "" {
		t.Errorf("successes (-want +got):\n%s", diff)
	}

	folders.write(t, validatingPolicies, "a.yaml", good)
	eventually(t, inForce("first", "second"))
}
