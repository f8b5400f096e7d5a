package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// tracedManifests has the objects that are applied before the tests' requests: a webhook whose rules select only
// updates of ConfigMaps.
const tracedManifests = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: my-webhook}
webhooks:
- name: check.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  failurePolicy: Ignore
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [UPDATE]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`

// traced starts a server with the flags. The server creates the webhook of tracedManifests, a ConfigMap, a Pod and a
// Deployment.
func traced(t *testing.T, flags ...string) *process {
	t.Helper()
	objects := file(t, "objects.yaml", "%s---\n%s---\n%s---\n%s", tracedManifests,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n",
		strings.Replace(reviewedPod, "namespace: shop", "namespace: default", 1), strings.Replace(reviewedDeployment, "name: web}", "name: web, namespace: default}", 1))
	p, _ := serve(t, append(flags, "--apply="+objects)...)
	return p
}

// "miniapi trace --for" selects requests by their object. It accepts the names of resources that kubectl accepts.
func TestTrace(t *testing.T) {
	t.Parallel()
	p := traced(t, "--trace-requests=100")
	for _, test := range []struct {
		name, reason string
		args         []string
		// want is a text in the output, or "" if there is no output. without is a text that isn't in the output.
		want, without string
	}{
		{"name", "the object alone", []string{"--for=configmaps/settings"},
			"of configmaps default/settings by system:admin ->", "of pods"},
		{"short name", "po stands for pods", []string{"--for=po/web"}, "of pods default/web", "deployments"},
		{"short name of a group", "deploy stands for deployments.apps", []string{"--for=deploy/web"},
			"of deployments.apps default/web", "of pods"},
		{"full name", "the name has a version, too", []string{"--for=deployments.v1.apps/web"},
			"of deployments.apps default/web", "of pods"},
		{"short name alone", "all objects of a resource", []string{"--for=cm"}, "of configmaps default/settings", "of pods"},
		{"namespace", "the namespace is a part of the name", []string{"--for=Pod/default/web"}, "of pods default/web", "of configmaps"},
		{"other namespace", "the namespace has no object", []string{"--for=pods", "-n", "other"}, "", "default"},
		{"user", "no request is alice's", []string{"--user=alice"}, "", "default"},
		{"limit", "the last request is the Deployment's", []string{"--limit=1"}, "deployments.apps", "configmaps"},
		{"brief", "plugins that did nothing are left out", []string{"--for=cm"},
			"ValidatingWebhookConfiguration/my-webhook/check.example.com not called: webhooks[0].rules[0].operations is",
			"LimitRanger"},
		{"wide", "all plugins are there", []string{"--for=cm", "-o", "wide"}, "LimitRanger (mutating, round 0)", "of pods"},
	} {
		got := runMiniapi(t, append([]string{"trace", "--kubeconfig=" + p.kubeconfig(t)}, test.args...)...)
		if test.want == "" && got != "" || !strings.Contains(got, test.want) || strings.Contains(got, test.without) {
			t.Errorf("%s: %s: want a timeline with %q and without %q, got:\n%s", test.name, test.reason, test.want, test.without, got)
		}
	}
}

// The output formats json and yaml have the complete requests.
func TestTraceFormats(t *testing.T) {
	t.Parallel()
	p := traced(t, "--trace-requests=100")
	var fromJSON, fromYAML []trace.Request
	scanner := bufio.NewScanner(strings.NewReader(runMiniapi(t, "trace", "--kubeconfig="+p.kubeconfig(t), "-o", "json")))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var request trace.Request
		if err := json.Unmarshal(scanner.Bytes(), &request); err != nil {
			t.Fatal(err)
		}
		fromJSON = append(fromJSON, request)
	}
	for _, document := range strings.Split("\n"+runMiniapi(t, "trace", "--kubeconfig="+p.kubeconfig(t), "-o", "yaml"), "\n---\n")[1:] {
		var request trace.Request
		if err := yaml.Unmarshal([]byte(document), &request); err != nil {
			t.Fatal(err)
		}
		fromYAML = append(fromYAML, request)
	}
	if len(fromJSON) < 4 || len(fromJSON) != len(fromYAML) {
		t.Fatalf("want all requests in both formats, got %d and %d", len(fromJSON), len(fromYAML))
	}
	for i := range fromJSON {
		if fromJSON[i].ID != fromYAML[i].ID || len(fromJSON[i].Admissions) == 0 || len(fromJSON[i].Admissions[0].Steps) == 0 {
			t.Errorf("want request %d with its steps in both formats, got %d and %d", i, fromJSON[i].ID, fromYAML[i].ID)
		}
	}
}

// "miniapi trace --follow" prints requests as they end. The server needs no flag for that.
func TestTraceFollow(t *testing.T) {
	t.Parallel()
	p, config := serve(t)
	follower := start(t, "miniapi", "trace", "--follow", "--for=cm", "-o", "json", "--kubeconfig="+p.kubeconfig(t))
	configMaps := client(t, config).CoreV1().ConfigMaps("default")
	shown := make(chan struct{})
	var maker sync.WaitGroup
	maker.Go(func() {
		// The command doesn't report when it begins to follow, so repeat the request until it is printed.
		for n := 0; ; n++ {
			select {
			case <-shown:
				return
			default:
				dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
				if _, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("a-", n)}}, dryRun); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	follower.awaitLine(t, `"verb":"create"`)
	close(shown)
	maker.Wait()
	follower.signal(t, syscall.SIGINT)
	if code, _, stderr := follower.exit(t); code != 0 || stderr != "" {
		t.Errorf("want exit code 0 after an interrupt, got %d and %q", code, stderr)
	}
}

// "miniapi trace why" says why a server called a webhook or didn't call it. The request may be a recorded
// request, or a request that no client has made.
func TestTraceWhy(t *testing.T) {
	t.Parallel()
	p := traced(t, "--trace-requests=100")
	const webhook = "ValidatingWebhookConfiguration/my-webhook"
	settings := file(t, "settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n")
	pod := file(t, "pod.yaml", "%s", strings.Replace(reviewedPod, "namespace: shop", "namespace: default", 1))
	for _, test := range []struct {
		name, reason string
		args         []string
		want         string
	}{
		{"recorded", "the request was a creation", []string{webhook, "cm/settings"},
			webhook + "/check.example.com was not called for CREATE of configmaps default/settings by system:admin: webhooks[0].rules[0].operations is [\"UPDATE\"], and the operation is CREATE."},
		{"webhook", "the answer is about one webhook",
			[]string{webhook + "/check.example.com", "configmaps/default/settings"}, "was not called for CREATE"},
		{"update", "the rules are for updates",
			[]string{webhook, "--dry-run", "-f", settings, "--operation=UPDATE", "--as=alice", "--as-group=system:masters"},
			"would be called for UPDATE of configmaps default/settings by alice: webhooks[0].rules[0] matches."},
		{"no permission", "authorization comes before admission",
			[]string{webhook, "--dry-run", "-f", settings, "--operation=UPDATE", "--as=alice"},
			"would not be called for UPDATE of configmaps default/settings by alice: authorization refuses the request before admission: configmaps \"settings\" is forbidden"},
		{"no namespace", "the sentence says what doesn't exist", []string{webhook, "cm/nowhere/settings"},
			"configmaps \"settings\" not found in namespace \"nowhere\", which doesn't exist."},
		{"deletion", "the rules are for updates", []string{webhook, "--dry-run", "-f", settings, "--operation=delete"},
			"would not be called for DELETE of configmaps default/settings"},
		{"connection", "no connection is made",
			[]string{webhook, "--dry-run", "-f", pod, "--operation=CONNECT", "--subresource=exec"},
			"would not be called for CONNECT of pods/exec default/web by system:admin: webhooks[0].rules[0].resources is"},
		{"yaml", "the answer has parts", []string{webhook, "deploy/web", "-o", "yaml"}, "reason: RuleGroup\n"},
	} {
		got := runMiniapi(t, append([]string{"trace", "why", "--kubeconfig=" + p.kubeconfig(t)}, test.args...)...)
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s: want %q, got %q", test.name, test.reason, test.want, got)
		}
	}
}

// The errors of "miniapi trace" name the flag, the argument or the object that is wrong or missing.
func TestTraceFailures(t *testing.T) {
	t.Parallel()
	p, _ := serve(t)
	const webhook = "ValidatingWebhookConfiguration/my-webhook"
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no trace", nil, 1,
			"records no requests: start the server with --trace-requests=100, or print requests as they end with --follow"},
		{"resource", []string{"--for=nosuch/x"}, 2, `--for "nosuch/x": the server `},
		{"resource to follow", []string{"--follow", "--for=nosuch"}, 2, `has no resource "nosuch"`},
		{"resource of why", []string{"why", webhook, "nosuch/web"}, 2, `argument "nosuch/web": the server `},
		{"output", []string{"-o", "xml"}, 2, `--output "xml": must be wide, json or yaml`},
		{"limit", []string{"--limit=-1"}, 2, "--limit -1: must be at least 0"},
		{"object", []string{"--for=pods//web"}, 2,
			`--for "pods//web": must be RESOURCE, RESOURCE/NAME, such as pods/web, or RESOURCE/NAMESPACE/NAME`},
		{"subcommand", []string{"wyh"}, 2, `unknown command "wyh"`},
		{"no configuration", []string{"why"}, 2, "the first argument must name a configuration or a policy: KIND/NAME"},
		{"three arguments", []string{"why", webhook, "pods/web", "pods/db"}, 2, `argument "pods/db": there must be two arguments`},
		{"no object", []string{"why", webhook}, 2, "a second argument must name the object: RESOURCE/NAME, such as pods/web"},
		{"no name", []string{"why", webhook, "pods"}, 2, `argument "pods": must be RESOURCE/NAME`},
		{"no file", []string{"why", webhook, "--dry-run"}, 2, "--dry-run: give -f too"},
		{"no dry run", []string{"why", webhook, "pods/web", "--operation=UPDATE"}, 2, "--operation: give --dry-run too"},
		{"groups", []string{"why", webhook, "pods/web", "--as-group=a"}, 2, `--as-group ["a"]: give --as too`},
		{"format", []string{"why", webhook, "pods/web", "-o", "wide"}, 2, `--output "wide": must be json or yaml`},
		{"kind", []string{"why", "my-webhook", "pods/web"}, 2,
			`webhook "my-webhook": must be MutatingWebhookConfiguration/NAME or ValidatingWebhookConfiguration/NAME`},
		{"operation",
			[]string{"why", webhook, "--dry-run", "-f", file(t, "pod.yaml", "%s", reviewedPod), "--operation=PATCH"}, 2,
			`operation "PATCH": must be CREATE, UPDATE, DELETE or CONNECT`},
		{"connection",
			[]string{"why", webhook, "--dry-run", "-f", file(t, "pod.yaml", "%s", reviewedPod), "--operation=CONNECT"},
			2, "subresource: must name the subresource to connect to, such as exec"},
		{"two objects",
			[]string{"why", webhook, "--dry-run", "-f", file(t, "two.yaml", "%s---\n%s", reviewedPod, reviewedPod)}, 1,
			"two.yaml: must have one object, got 2"},
		{"no kind", []string{"why", webhook, "--dry-run", "-f", file(t, "empty.yaml", "")}, 1, "empty.yaml: must have an object"},
		{"subresource",
			[]string{"why", webhook, "--dry-run", "-f", file(t, "pod.yaml", "%s", reviewedPod), "--operation=CONNECT", "--subresource=exek"},
			2, `subresource "exek": must be a subresource of pods: attach, binding`},
		{"absent object",
			[]string{"why", webhook, "--dry-run", "-f", file(t, "cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), "--operation=UPDATE"},
			1, `the operation UPDATE is for an object that exists: configmaps "a" not found in namespace "default"`},
		{"unknown object", []string{"why", webhook, "pods/none"}, 0, ""},
	} {
		code, _, stderr := start(t, "miniapi", append([]string{"trace", "--kubeconfig=" + p.kubeconfig(t)}, test.args...)...).exit(t)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: want exit code %d and %q, got %d and %q", test.name, test.code, test.want, code, stderr)
		}
	}
}

// If the server isn't miniapi, or doesn't run, the commands trace, record and faults print one line with the server's
// address.
func TestTraceOfAnotherServer(t *testing.T) {
	t.Parallel()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") }))
	t.Cleanup(page.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, server := range []struct{ name, url, want string }{
		{"another server", page.URL, "the server isn't miniapi, or is another version"},
		{"no server", gone.URL, "connection refused"},
	} {
		config := plainKubeconfig(t, server.url)
		for _, args := range [][]string{
			{"trace"}, {"trace", "--follow", "--for=po"}, {"trace", "--open"},
			{"trace", "why", "ValidatingWebhookConfiguration/a", "pods/web"},
			{"record", t.TempDir()}, {"faults"}, {"faults", "add", "verbs=get,status=500"}, {"faults", "delete", "--all"},
		} {
			code, _, stderr := start(t, "miniapi", append(args, "--kubeconfig="+config)...).exit(t)
			if code != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, server.want) || !strings.Contains(stderr, server.url) {
				t.Errorf("%s, %v: want exit code 1 and a line with %q and %s, got %d and %q", server.name, args, server.want, server.url, code, stderr)
			}
		}
	}
}

// plainKubeconfig writes a kubeconfig without credentials for a server, and returns its path.
func plainKubeconfig(t *testing.T, url string) string {
	t.Helper()
	return file(t, "kubeconfig", "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: %q}}]\n", url)
}
