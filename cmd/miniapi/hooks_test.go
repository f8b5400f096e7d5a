package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	clusterapi "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/clusterapi/v1alpha1"
	hooksv1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/hooks/v1alpha1"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/catalog"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/extension"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

// quotaExtension starts a runtime extension. The handler of the extension answers with a success and the Kubernetes
// version of the upgrade. For the version "no", the handler answers with a failure.
func quotaExtension(t *testing.T) *httptest.Server {
	t.Helper()
	c := catalog.New()
	if err := clusterapi.AddToCatalog(c); err != nil {
		t.Fatal(err)
	}
	e, err := extension.New(extension.Options{Catalog: c},
		extension.Of(clusterapi.BeforeClusterUpgrade, "quota", func(_ context.Context, request *clusterapi.BeforeClusterUpgradeRequest, response *clusterapi.BeforeClusterUpgradeResponse) {
			response.Status, response.RetryAfterSeconds = hooksv1.ResponseStatusSuccess, 30
			response.Message = "waiting for quota for " + request.ToKubernetesVersion + " in " + request.Settings["region"]
			if request.ToKubernetesVersion == "no" {
				response.Status, response.Message = hooksv1.ResponseStatusFailure, "there is no such version"
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(e)
	t.Cleanup(server.Close)
	return server
}

// "miniapi hooks" lists the extensions of a server, and calls them.
func TestHooks(t *testing.T) {
	t.Parallel()
	p, _ := serve(t, "--runtime-hooks")
	kubeconfig := "--kubeconfig=" + p.kubeconfig(t)
	server := quotaExtension(t)
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	configs := dynamic.NewForConfigOrDie(config).Resource(runtimev1.Resource())
	for name, ca := range map[string][]byte{
		"works":  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		"broken": []byte("no certificate"),
	} {
		object := &unstructured.Unstructured{}
		spec := runtimev1.ExtensionConfigSpec{
			ClientConfig:      runtimev1.ClientConfig{URL: server.URL, CABundle: ca},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "default"}},
		}
		data, err := json.Marshal(map[string]any{"spec": spec})
		if err == nil {
			err = json.Unmarshal(data, &object.Object)
		}
		object.SetAPIVersion(runtimev1.GroupVersion().String())
		object.SetKind("ExtensionConfig")
		object.SetName(name)
		if err == nil {
			_, err = configs.Create(t.Context(), object, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	awaitOutput(t, "quota.works", "hooks", "list", kubeconfig)
	list := awaitOutput(t, "ExtensionConfig broken isn't discovered", "hooks", "list", kubeconfig)
	if want := "hooks.runtime.cluster.x-k8s.io/v1alpha1/BeforeClusterUpgrade   quota.works   10s       Fail\n"; !strings.Contains(list, want) {
		t.Errorf("the list lacks %q: %s", want, list)
	}

	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(file, []byte("{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {namespace: default, name: c}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	call := []string{"hooks", "call", "BeforeClusterUpgrade", kubeconfig, "-f", file, "--setting=region=eu"}
	// One ExtensionConfig is broken, but the server calls the other extensions. Repeat the call until the server knows the
	// extension.
	out := awaitOutput(t, "waiting for quota", append(call, "--field=toKubernetesVersion=v1.37.2")...)
	here := runMiniapi(t, append(call, "--field=toKubernetesVersion=v1.37.2", "--webhook-service=none/none=127.0.0.1:1")...)
	if withoutTimes(out) != withoutTimes(here) {
		t.Errorf("the server's call prints %q, and the command's own %q", out, here)
	}
	for _, want := range []string{"quota.works", "hooks.runtime.cluster.x-k8s.io/v1alpha1/BeforeClusterUpgrade: Success, blocks, retry after 30 s, waiting for quota for v1.37.2 in eu"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q: %s", want, out)
		}
	}
	if out := runMiniapi(t, "hooks", "call", "BeforeClusterDelete", kubeconfig, "-f", file); !strings.Contains(out, "no extension has a handler for this object") {
		t.Errorf("a hook without handlers: %s", out)
	}
	var result hookclient.Result
	if err := json.Unmarshal([]byte(runMiniapi(t, append(call, "--field=toKubernetesVersion=v1.37.2", "-o=json", "--handler=quota.works")...)), &result); err != nil {
		t.Fatal(err)
	}
	if len(result.Answers) != 1 || result.Answers[0].Handler != "quota.works" || len(result.Response) == 0 {
		t.Errorf("the result is %+v", result)
	}
	for _, test := range []struct {
		name, reason string
		args         []string
		code         int
		out, err     string
	}{
		{"failure", "the exit code shows a script that the hook failed", append(call, "--field=toKubernetesVersion=no"),
			1, "failed: handler", "there is no such version"},
		{"other namespace", "the selector of the extension doesn't match the namespace",
			append(call, "--namespace=kube-system"), 0, "no extension has a handler for this object", ""},
		{"no file", "the hook needs an object", []string{"hooks", "call", "BeforeClusterUpgrade", kubeconfig}, 2, "", "-f FILE"},
		{"no hook", "the command needs a hook", []string{"hooks", "call", kubeconfig}, 2, "", "takes the name of one hook"},
		{"unknown hook", "the name is wrong", []string{"hooks", "call", "BeforeLunch", kubeconfig, "-f", file}, 2, "",
			`no hook "BeforeLunch"`},
		{"unknown field", "the name is wrong", append(call, "--field=version=1"), 2, "",
			"with values of their types: json: unknown field \"version\""},
		{"field without value", "the form is wrong", append(call, "--field=version"), 2, "", "NAME=VALUE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, stdout, stderr := start(t, "miniapi", test.args...).exit(t)
			if code != test.code || !strings.Contains(stdout, test.out) || !strings.Contains(stderr, test.err) {
				t.Errorf("exit code %d, output %q, error %q (%s)", code, stdout, stderr, test.reason)
			}
		})
	}
}

// awaitOutput runs the program again and again until it succeeds and its standard output contains a text.
func awaitOutput(t *testing.T, text string, args ...string) (stdout string) {
	t.Helper()
	var last string
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, deadline, true, func(context.Context) (bool, error) {
		var code int
		code, stdout, last = start(t, "miniapi", args...).exit(t)
		return code == 0 && strings.Contains(stdout, text), nil
	}); err != nil {
		t.Fatalf("%v: the output of miniapi %q lacks %q: %s%s", err, args, text, stdout, last)
	}
	return stdout
}

// withoutTimes removes the durations of calls from an output.
func withoutTimes(output string) string {
	return regexp.MustCompile(`\s+[\d.]+(µs|ms|s)\s+`).ReplaceAllString(output, " ")
}

func TestHooksNeedAServerThatHasThem(t *testing.T) {
	t.Parallel()
	p, _ := serve(t)
	code, _, stderr := start(t, "miniapi", "hooks", "list", "--kubeconfig="+p.kubeconfig(t)).exit(t)
	if code != 1 || !strings.Contains(stderr, "start the server with --runtime-hooks") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// "miniapi hooks openapi" prints one document in two formats, and needs no running server.
func TestHooksOpenAPI(t *testing.T) {
	t.Parallel()
	var documents [2]struct {
		OpenAPI string
		Paths   map[string]any
	}
	for i, format := range []string{"yaml", "json"} {
		text := []byte(runMiniapi(t, "hooks", "openapi", "-o", format))
		if err := yaml.Unmarshal(text, &documents[i]); err != nil {
			t.Fatal(err)
		}
		if json.Valid(text) != (format == "json") {
			t.Errorf("the document isn't %s: %s", format, text[:100])
		}
	}
	if d := documents[0]; d.OpenAPI != "3.0.0" || len(d.Paths) != 17 || d.Paths["/hooks.runtime.cluster.x-k8s.io/v1alpha1/discovery"] == nil {
		t.Errorf("the document is %s with %d paths", d.OpenAPI, len(d.Paths))
	}
	if diff := cmp.Diff(documents[0], documents[1]); diff != "" {
		t.Errorf("the formats differ (-yaml +json): %s", diff)
	}
	if printed, want := runMiniapi(t, "hooks", "openapi"), runMiniapi(t, "hooks", "openapi", "-o", "yaml"); printed != want {
		t.Errorf("the default isn't yaml: the command prints %d bytes, not %d", len(printed), len(want))
	}
	if code, _, stderr := start(t, "miniapi", "hooks", "openapi", "-o=xml").exit(t); code != 2 || !strings.Contains(stderr, "must be json or yaml") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
