package miniapitest_test

import (
	"regexp"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// gadgets returns a definition of a resource with a short name.
func gadgets(plural, kind, shortName string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ShortNames: []string{shortName}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}

// Definitions are installed together. The error has the errors of all of them, in their order.
func TestRefusedDefinitions(t *testing.T) {
	t.Parallel()
	_, err := miniapitest.New(t.Context(), miniapitest.WithObjects(
		gadgets("first", "", "f"), gadgets("second", "Second", "s"), gadgets("third", "", "t")))
	want := regexp.MustCompile(`(?s)first\.example\.com.*spec\.names\.kind.*third\.example\.com.*spec\.names\.kind`)
	if err == nil || !want.MatchString(err.Error()) {
		t.Errorf("want an error like %q, got %v", want, err)
	}
}

// A definition that is given twice replaces itself.
func TestDefinitionGivenAgain(t *testing.T) {
	t.Parallel()
	var given []runtime.Object
	for _, shortName := range []string{"a", "b", "c", "d"} {
		given = append(given, gadgets("others"+shortName, "Other"+shortName, "o"+shortName), gadgets("gadgets", "Gadget", shortName))
	}
	srv := miniapitest.Start(t, miniapitest.WithObjects(given...))
	resources, err := srv.Client().Discovery().ServerResourcesForGroupVersion("example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range resources.APIResources {
		if resource.Name == "gadgets" && (len(resource.ShortNames) != 1 || resource.ShortNames[0] != "d") {
			t.Errorf("short names %v, want those of the last", resource.ShortNames)
		}
	}
	if got := len(resources.APIResources); got != 5 {
		t.Errorf("%d resources, want 5", got)
	}
}
