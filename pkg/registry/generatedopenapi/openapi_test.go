package generatedopenapi_test

import (
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/miniapi-dev/miniapi/pkg/registry/generatedopenapi"
)

func ref(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) }

// TestDefinitionsAreClosed checks that every reference in the definitions leads to a definition. With a reference
// that leads nowhere, a server couldn't build /openapi/v2 and /openapi/v3 at all.
func TestDefinitionsAreClosed(t *testing.T) {
	t.Parallel()
	definitions := generatedopenapi.GetOpenAPIDefinitions(ref)
	for name, definition := range definitions {
		for _, dependency := range definition.Dependencies {
			if _, ok := definitions[dependency]; !ok {
				t.Errorf("%s refers to %s, which has no definition: add // +k8s:openapi-gen=true to the type and run make update", name, dependency)
			}
		}
	}
}

func TestDefinitionNames(t *testing.T) {
	t.Parallel()
	definitions := generatedopenapi.GetOpenAPIDefinitions(ref)

	for name := range definitions {
		if strings.Contains(name, "/") {
			t.Errorf("%s is a Go path, not a model name: give the type a method OpenAPIModelName and run make update", name)
		}
	}

	for _, test := range []struct{ name, reason string }{
		{"io.k8s.api.core.v1.Pod", "the core group is published as core"},
		{"io.k8s.api.rbac.v1.ClusterRole", "a group is published by its folder's name, not its DNS name"},
		{"io.k8s.api.extensions.v1beta1.Deployment", "a version that is served on demand has definitions too"},
		{"io.k8s.api.admissionregistration.v1beta1.ValidatingWebhookConfiguration", "served on demand"},
		{"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
			"a type of another module has a name with the module"},
		{"io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService", "a type of another module has a name with the module"},
		{"io.k8s.apimachinery.pkg.api.resource.Quantity", "the schema of every object with resources refers to Quantity"},
		{"io.k8s.apimachinery.pkg.apis.meta.v1.Status", "the description of every operation refers to Status"},
		{"io.k8s.apimachinery.pkg.util.intstr.IntOrString", "the schema of every port refers to IntOrString"},
		{"io.k8s.apimachinery.pkg.version.Info", "the answer of /version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, ok := definitions[test.name]; !ok {
				t.Errorf("no definition of %s: %s", test.name, test.reason)
			}
		})
	}
}

func TestClosure(t *testing.T) {
	t.Parallel()
	closure := generatedopenapi.Closure(ref, "io.k8s.api.rbac.v1.ClusterRole")
	for _, name := range []string{"io.k8s.api.rbac.v1.ClusterRole", "io.k8s.api.rbac.v1.AggregationRule", "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement"} {
		if _, ok := closure[name]; !ok {
			t.Errorf("a ClusterRole is made of %s", name)
		}
	}
	for name, definition := range closure {
		for _, dependency := range definition.Dependencies {
			if _, ok := closure[dependency]; !ok {
				t.Errorf("%s refers to %s, which isn't in the closure", name, dependency)
			}
		}
	}
	if _, ok := closure["io.k8s.api.core.v1.Pod"]; ok {
		t.Error("a ClusterRole isn't made of Pods")
	}
	if unknown := generatedopenapi.Closure(ref, "unknown"); len(unknown) > 0 {
		t.Errorf("%d definitions of an unknown type", len(unknown))
	}
}

// TestClosureOf checks that the definitions of some types include those to which they refer, and no others.
func TestClosureOf(t *testing.T) {
	t.Parallel()
	const scale, deployment = "io.k8s.api.autoscaling.v1.Scale", "io.k8s.api.apps.v1.Deployment"
	definitions := generatedopenapi.ClosureOf(ref, func(name string) bool { return name == scale })
	for name, want := range map[string]bool{
		scale: true, "io.k8s.api.autoscaling.v1.ScaleSpec": true, "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": true, deployment: false,
	} {
		if _, got := definitions[name]; got != want {
			t.Errorf("%s: in the closure of %s: %v, want %v", name, scale, got, want)
		}
	}
}
