// Package project writes custom resource definitions like those of a large project, for benchmarks. Don't use it in
// tests of definitions, because these tests need small definitions.
package project

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Definitions is the number of definitions of a project. They have 4.6 MB, like the definitions of Cluster API and
	// Kueue together.
	Definitions = 54
	// Median is the median size of the definitions of the project, in kB.
	Median = 14
	// Mean is the mean size of the definitions of the project, in kB.
	Mean = 86
	// group is the API group of the definitions.
	group = "example.com"
)

// large are the sizes of the largest definitions, in kB. They make up most of the project. All other definitions have
// the median size.
var large = [...]int{1400, 360, 360, 350, 310, 280, 240, 100, 100, 90, 90, 90, 90, 80, 80, 80}

// Largest is the resource of the largest definition of a project.
var Largest = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "parts0"}

// Write writes the definitions of a project into a folder, one file for each. The argument text is part of every
// description, so a different text gives different definitions.
func Write(folder, text string) error {
	for n := range Definitions {
		kB := Median
		if n < len(large) {
			kB = large[n]
		}
		if _, err := WriteOne(folder, fmt.Sprint("parts", n), text, kB); err != nil {
			return err
		}
	}
	return nil
}

// WriteOne writes a definition of about kB kilobytes into a folder, and returns the path of its file.
func WriteOne(folder, plural, text string, kB int) (string, error) {
	data, err := json.Marshal(definition(plural, text, kB))
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, plural+".yaml")
	return file, os.WriteFile(file, data, 0o600)
}

// definition returns a definition with nested objects, rules and long descriptions.
func definition(plural, text string, kB int) *apiextensionsv1.CustomResourceDefinition {
	text = strings.Repeat("The field says something about the resource that takes a line to say. ", 5) + text
	limit, items := int64(253), int64(16)
	groups := map[string]apiextensionsv1.JSONSchemaProps{}
	for n := range max(1, kB*1000/groupSize) {
		fields := map[string]apiextensionsv1.JSONSchemaProps{}
		for _, name := range []string{"name", "reason", "mode", "zone"} {
			fields[name] = apiextensionsv1.JSONSchemaProps{Type: "string", Description: text, MaxLength: &limit}
		}
		group := apiextensionsv1.JSONSchemaProps{Type: "object", Description: text, Properties: fields, Required: []string{"name"}}
		if n%groupsPerRule == 0 {
			group.XValidations = apiextensionsv1.ValidationRules{{Rule: "!has(self.mode) || self.mode != 'off' || has(self.reason)", Message: "off needs a reason"}}
		}
		groups[fmt.Sprint("group", n)] = apiextensionsv1.JSONSchemaProps{
			Type: "array", MaxItems: &items, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &group},
		}
	}
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec":   {Type: "object", Properties: groups},
						"status": {Type: "object"},
					},
				}},
			}},
		},
	}
}

const (
	// groupSize is the approximate size of a group of fields in bytes.
	groupSize = 2600
	// groupsPerRule is the number of groups of fields for each validation rule.
	groupsPerRule = 20
)
