package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/cli"
)

const (
	widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
`
	hookOfWidgets = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: widgets}
webhooks:
- name: widgets.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules:
  - {apiGroups: [example.com], apiVersions: [v1], operations: [DELETE], resources: [RESOURCE]}
---
`
)

func widget(name string) string {
	return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: " + name + "}\n---\n"
}

// --apply accepts a custom resource before its definition, because files are read in the order of their names. With
// --apply-skip-unknown, objects of kinds that the server doesn't have are skipped.
func TestApply(t *testing.T) {
	t.Parallel()
	const (
		configMap   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}\n---\n"
		certificate = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: serving}\n---\n"
	)
	for _, test := range []struct {
		name, reason string
		manifests    string
		args         []string
		widgets      []string
		stderr       string // the expected output; FILE stands for the path of the manifests
	}{
		{"definition first", "the definition is in effect when the next object is applied",
			widgetDefinition + widget("a") + configMap, nil, []string{"a"}, ""},
		{"definition later", "objects wait for a definition that comes later",
			widget("a") + configMap + widget("b") + widgetDefinition + widget("c"), nil, []string{"a", "b", "c"}, ""},
		{
			"unknown kinds", "the command prints a line for each skipped object",
			certificate + widgetDefinition + strings.ReplaceAll(certificate, "serving", "client") + widget("a") + configMap,
			[]string{"--apply-skip-unknown"}, []string{"a"},
			"Skipped: FILE, document 1: Certificate serving: nothing serves the kind in cert-manager.io/v1\n" +
				"Skipped: FILE, document 3: Certificate client: nothing serves the kind in cert-manager.io/v1\n",
		},
		{
			"webhook first", "the server has the resource of the rule when all files are applied",
			strings.ReplaceAll(hookOfWidgets, "RESOURCE", "widgets") + widgetDefinition + widget("a") + configMap,
			nil, []string{"a"}, "",
		},
		{
			"webhook of nothing", "the server never has the resource of the rule",
			strings.ReplaceAll(hookOfWidgets, "RESOURCE", "widget") + widgetDefinition + widget("a") + configMap,
			nil, []string{"a"},
			"Warning: FILE, document 1: ValidatingWebhookConfiguration widgets: webhooks[0].rules[0].resources[0]: nothing serves \"widget\" in example.com/v1: the webhook isn't called for it\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			manifests := file(t, "manifests.yaml", "%s", test.manifests)
			p, config := serve(t, append(test.args, "--apply="+manifests)...)
			list, err := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var widgets []string
			for i := range list.Items {
				widgets = append(widgets, list.Items[i].GetName())
			}
			if diff := cmp.Diff(test.widgets, widgets); diff != "" {
				t.Errorf("widgets: %s (-want +got):\n%s", test.reason, diff)
			}
			if _, err := client(t, config).CoreV1().ConfigMaps("default").Get(t.Context(), "last", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
			p.signal(t, syscall.SIGTERM)
			_, _, stderr := p.exit(t)
			if diff := cmp.Diff(strings.ReplaceAll(test.stderr, "FILE", manifests), stderr); diff != "" {
				t.Errorf("on stderr: %s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// A server stores the custom resource definitions of --apply together, at its start. If the files have a definition
// twice, the server stores the definitions one after the other, and keeps the later one.
func TestApplyOfDefinitions(t *testing.T) {
	t.Parallel()
	gears := strings.NewReplacer("widgets", "gears", "Widget", "Gear").Replace(widgetDefinition)
	for _, test := range []struct {
		name, reason string
		manifests    string
		together     bool
		singular     string
	}{
		{"each once", "the server stores all definitions together at its start", widgetDefinition + gears, true, "widget"},
		{"changed", "a definition that comes twice is applied by requests, one after the other",
			widgetDefinition + gears + strings.ReplaceAll(widgetDefinition, "kind: Widget}", "kind: Widget, singular: thing}"),
			false, "thing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			manifests := file(t, "manifests.yaml", "%s", test.manifests+widget("a"))
			p, config := serve(t, "--apply="+manifests)
			definitions := dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
			list, err := definitions.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 2 {
				t.Fatalf("want two definitions, got %v: %v", list, err)
			}
			if got := list.Items[0].GetResourceVersion() == list.Items[1].GetResourceVersion(); got != test.together {
				t.Errorf("stored together: %v, want %v: %s", got, test.together, test.reason)
			}
			singular, _, err := unstructured.NestedString(list.Items[1].Object, "spec", "names", "singular")
			if err != nil || singular != test.singular {
				t.Errorf("the singular of widgets is %q, want %q: %v", singular, test.singular, err)
			}
			p.signal(t, syscall.SIGTERM)
			if _, _, stderr := p.exit(t); stderr != "" {
				t.Errorf("on stderr: %s", stderr)
			}
		})
	}
}

// The error for an object of a kind that the server doesn't serve says how the server gets the kind, and names the flag that
// skips such objects.
func TestApplyOfAnUnknownKind(t *testing.T) {
	t.Parallel()
	const oldWebhooks = "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: old}\n"
	for _, test := range []struct {
		name, reason, manifest string
		want                   []string
	}{
		{"unknown", "the kind may have a definition", widget("a"),
			[]string{"manifest.yaml, document 1: Widget a", `kind "Widget" in version "example.com/v1"`, "apply the definition", "--apply-skip-unknown"}},
		{"built in", "the specification of admission webhooks has examples in this version", oldWebhooks,
			[]string{"--runtime-config=admissionregistration.k8s.io/v1beta1=true", "--apply-skip-unknown"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := start(t, "miniapi", "serve", "--secure-port=0", "--apply="+file(t, "manifest.yaml", "%s", test.manifest)).exit(t)
			for _, want := range test.want {
				if code != cli.ExitFailed || !strings.Contains(stderr, want) {
					t.Errorf("%s: want %d and %q, got %d and %s", test.reason, cli.ExitFailed, want, code, stderr)
				}
			}
		})
	}
}

// --apply takes standard input, and a folder with a kustomization.
func TestApplyOfOtherSources(t *testing.T) {
	t.Parallel()
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}\n"
	folder := t.TempDir()
	for name, content := range map[string]string{"configmap.yaml": configMap, "kustomization.yaml": "namePrefix: the-\nresources: [configmap.yaml]\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, reason, path, want string }{
		{"standard input", "another program may print the manifests", "-", "last"},
		{"kustomization", "kustomize changes the names", folder, "the-last"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("kubectl"); err != nil && test.path == folder {
				t.Skip("no kubectl in PATH, which builds kustomizations")
			}
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			cmd := exec.Command(filepath.Join(programs, "miniapi"), "serve", "--secure-port=0", "--write-kubeconfig="+kubeconfig, "--apply="+test.path)
			cmd.Env, cmd.Stdin = append(os.Environ(), asProgram+"=1"), strings.NewReader(configMap)
			p := startCommand(t, cmd)
			if _, ready := <-p.lines; !ready {
				t.Fatalf("%s: the server isn't ready: %s", test.reason, p.stderr.String())
			}
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client(t, config).CoreV1().ConfigMaps("default").Get(t.Context(), test.want, metav1.GetOptions{}); err != nil {
				t.Errorf("%s: %v", test.reason, err)
			}
		})
	}
}
