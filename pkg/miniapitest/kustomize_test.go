package miniapitest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// Definitions and webhook configurations are found among kustomize's files in the layout of kubebuilder.
func TestKubebuilderLayout(t *testing.T) {
	t.Parallel()
	const root = "testdata/kubebuilder/config"
	for _, test := range []struct {
		name, reason          string
		definitions, webhooks miniapitest.Option
	}{
		{"folders", "each has kustomize's files", miniapitest.WithCRDs(root + "/crd"), miniapitest.WithWebhookManifests(root + "/webhook")},
		{"all", "it has patches, too", miniapitest.WithCRDs(root), miniapitest.WithWebhookManifests(root)},
		{"globs", "they match kustomizations, too", miniapitest.WithCRDs(root + "/crd/*"), miniapitest.WithWebhookManifests(root + "/webhook/*")},
		{"file systems", "they are read alike", miniapitest.WithCRDsFS(testdata, root), miniapitest.WithWebhookManifestsFS(testdata, root)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), test.definitions, test.webhooks, miniapitest.WithWebhook("/validate", miniapitest.AdmissionHandler(refuseBad)))
			if err != nil {
				t.Fatalf("though %s: %v", test.reason, err)
			}
			t.Cleanup(func() {
				if err := srv.Stop(); err != nil {
					t.Error(err)
				}
			})
			sprocket := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Sprocket", "metadata": map[string]any{"name": "bad"}}}
			sprockets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sprockets"}
			if _, err := srv.DynamicClient().Resource(sprockets).Namespace("default").Create(t.Context(), sprocket, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("want the webhook's refusal, got %v", err)
			}
		})
	}
}

// A patch whose file is named is applied to its definition.
func TestPatchOfDefinition(t *testing.T) {
	t.Parallel()
	const crds = "testdata/kubebuilder/config/crd"
	for _, test := range []struct {
		name, reason string
		paths        []string
		want         string // the version from which is converted, if any
	}{
		{"named", "it says which webhook converts", []string{crds + "/bases", crds + "/patches/webhook_in_sprockets.yaml"}, "v1"},
		{"named before", "it says the same", []string{crds + "/patches/webhook_in_sprockets.yaml", crds}, "v1"},
		{"two named", "each changes what it says", []string{crds, crds + "/patches/webhook_in_sprockets.yaml", crds + "/patches/cainjection_in_sprockets.yaml"}, "v1"},
		{"named with two paths to the definition", "the second is installed, too", []string{crds + "/bases", crds, crds + "/patches/webhook_in_sprockets.yaml"}, "v1"},
		{"in a folder", "it need not be in use", []string{crds}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sprocket := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Sprocket", "metadata": map[string]any{"name": "first"}}}
			srv := miniapitest.Start(t, miniapitest.WithCRDs(test.paths...), miniapitest.WithObjects(sprocket), miniapitest.WithWebhook("/convert", http.HandlerFunc(convert)))
			sprockets := schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "sprockets"}
			got, err := srv.DynamicClient().Resource(sprockets).Namespace("default").Get(t.Context(), "first", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if from, _, _ := unstructured.NestedString(got.Object, "convertedFrom"); from != test.want {
				t.Errorf("want it to be converted from %q because %s, got %v", test.want, test.reason, got.Object)
			}
		})
	}
}

// Files that may be mistakes are errors.
func TestKustomizeFiles(t *testing.T) {
	t.Parallel()
	const (
		root  = "testdata/kubebuilder/config"
		build = `or give what "kustomize build" makes`
	)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "broken.yaml"), []byte("a: b\n---\na: {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, reason string
		option       miniapitest.Option
		want         []string
	}{
		{"patch of a definition that isn't there", "a file that is named is meant to be used", miniapitest.WithCRDs("testdata/conversion", root+"/crd/patches/webhook_in_sprockets.yaml"),
			[]string{"webhook_in_sprockets.yaml, document 1: CustomResourceDefinition sprockets.example.com: spec.group must be set", "name the definition's file too"}},
		{"patch of a configuration by name", "so it is here", miniapitest.WithWebhookManifests(root+"/webhook", root+"/webhook/patches/cainjection.yaml"),
			[]string{"cainjection.yaml, document 1: ValidatingWebhookConfiguration validating-webhook-configuration: webhooks must be set", build}},
		{"patches of definitions alone", "nothing found is a mistake in the path", miniapitest.WithCRDs(root + "/crd/patches"), []string{"no CustomResourceDefinition in"}},
		{"a glob of patches alone", "so it is here", miniapitest.WithCRDs(root + "/crd/patches/*.yaml"), []string{"no CustomResourceDefinition in"}},
		{"patches of configurations alone", "and here", miniapitest.WithWebhookManifests(root + "/webhook/patches"), []string{"no webhook configuration in"}},
		{"definitions that can't be read", "they might be among it", miniapitest.WithCRDs(root, broken), []string{"broken.yaml, document 2: error converting YAML to JSON"}},
		{"configurations that can't be read", "so they might", miniapitest.WithWebhookManifests(root, broken), []string{"broken.yaml, document 2: error converting YAML to JSON"}},
		{"all of a folder of definitions", "manifests are objects, all of them", miniapitest.WithManifests(root + "/crd"), []string{"kustomizeconfig.yaml, document 1: apiVersion and kind must be set", build}},
		{"all of a folder of patches", "one would take the place of the definition", miniapitest.WithManifests(root + "/crd/patches"),
			[]string{"cainjection_in_sprockets.yaml, document 1: CustomResourceDefinition sprockets.example.com: spec.group must be set", build}},
		{"a list of changes", "the server has no name for it", miniapitest.WithManifests(root + "/default"), []string{"manager_patch.yaml, document 1: it must be an object, with apiVersion and kind", build}},
		{"kustomization", "no definition would make it one of the server's", miniapitest.WithManifests(root + "/webhook/kustomization.yaml"),
			[]string{"kustomization.yaml, document 1: kind Kustomization is for kustomize, not for a server", build}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv, err := miniapitest.New(t.Context(), test.option)
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
