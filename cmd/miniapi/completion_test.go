package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		args         []string
		want         string // a part of the output
	}{
		{"listed", "people find it by the help", []string{"--help"}, "\n  completion "},
		{"script", "a shell reads it", []string{"completion", "bash"}, "__start_miniapi"},
		{"command", "scripts call the program back", []string{"__complete", "ser"}, "serve\t"},
		{"flag", "the shell completes miniapi's own flags, too", []string{"__complete", "serve", "--webhook-s"}, "--webhook-service\t"},
		{"manifests", "other files can't be applied", []string{"__complete", "serve", "--apply", ""}, "yaml\nyml\njson\n:8"},
		{"folder", "the value of the flag is a folder", []string{"__complete", "serve", "--data-dir", ""}, ":16"},
		{"plugins", "the last of several names is completed",
			[]string{"__complete", "serve", "--enable-admission-plugins", "AlwaysPullImages,Event"},
			"AlwaysPullImages,EventRateLimit\n:6"},
		{"cases", "without a server, all cases are offered",
			[]string{"__complete", "conformance", "apiserver", "--kubeconfig=missing", "--only", "failure.fail."},
			"failure.fail.code404\n"},
		{"hooks", "the hooks of Cluster API are known", []string{"__complete", "hooks", "call", ""}, "BeforeClusterCreate\n"},
		{"format", "the flag has two values", []string{"__complete", "version", "-o", ""}, "json\nyaml\n:4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := start(t, "miniapi", test.args...).exit(t)
			if code != 0 || !strings.Contains(stdout, test.want) {
				t.Errorf("%s: want %q, got exit code %d, %q, and on stderr %q", test.reason, test.want, code, stdout, stderr)
			}
		})
	}
}

// Arguments and flags that name something on the server are completed from the server of the kubeconfig.
func TestCompletionFromServer(t *testing.T) {
	t.Parallel()
	p := traced(t, "--trace-requests=100", "--fault=name=slow,resources=pods,latency=1ms")
	for _, test := range []struct {
		name, reason string
		args         []string
		want         string
	}{
		{"kind", "the first argument begins with a kind", []string{"trace", "why", "Val"}, "ValidatingWebhookConfiguration/\n"},
		{"configuration", "the kind is followed by a name", []string{"trace", "why", "ValidatingWebhookConfiguration/"},
			"ValidatingWebhookConfiguration/my-webhook\n"},
		{"webhook", "a configuration has webhooks",
			[]string{"trace", "why", "ValidatingWebhookConfiguration/my-webhook/"},
			"ValidatingWebhookConfiguration/my-webhook/check.example.com\n:4"},
		{"resource", "the second argument begins with a resource",
			[]string{"trace", "why", "ValidatingWebhookConfiguration/my-webhook", "deploy"}, "deployments/\n"},
		{"object", "the namespace is that of the kubeconfig",
			[]string{"trace", "why", "ValidatingWebhookConfiguration/my-webhook", "po/"}, "po/web\n"},
		{"objects", "the object may be in any namespace", []string{"trace", "--for", "configmaps/"}, "configmaps/default/settings\n"},
		{"objects of a namespace", "the flag names the namespace",
			[]string{"trace", "-n", "default", "--for", "configmaps/"}, "configmaps/settings\n"},
		{"context", "the kubeconfig has the contexts", []string{"trace", "--context", ""}, "miniapi\n:4"},
		{"fault", "the server has the faults", []string{"faults", "delete", ""}, "slow\n"},
		{"cases", "the server decides which cases apply",
			[]string{"conformance", "apiserver", "--only", "failure.fail."}, "failure.fail.code404\n"},
	} {
		command := slices.IndexFunc(test.args[1:], func(arg string) bool { return arg != "why" && arg != "delete" && arg != "apiserver" }) + 1
		got := runMiniapi(t, slices.Concat([]string{"__complete"}, test.args[:command], []string{"--kubeconfig=" + p.kubeconfig(t)}, test.args[command:])...)
		if !strings.Contains(got+"\n", test.want) {
			t.Errorf("%s: %s: want %q, got %q", test.name, test.reason, test.want, got)
		}
	}
}
