// Package definition has the CustomResourceDefinition of ExtensionConfig, and converts ExtensionConfigs between
// versions.
//
// A server with this definition validates, defaults and stores ExtensionConfigs as Cluster API does. Don't apply it
// to a cluster with Cluster API, which has a definition of its own.
package definition

import (
	_ "embed" // for the YAML file of the definition
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1alpha1"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
)

// Name is the name of the CustomResourceDefinition.
const Name = "extensionconfigs." + v1beta2.Group

//go:embed extensionconfigs.yaml
var manifest []byte

// YAML returns the definition without a conversion webhook. A server that serves both versions needs a conversion
// webhook: see Converted.
func YAML() []byte { return append([]byte(nil), manifest...) }

// Converted returns the definition with a conversion webhook. clientConfig says where the API server reaches the
// webhook. The webhook must convert by the function Convert.
func Converted(clientConfig map[string]any) (*unstructured.Unstructured, error) {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(manifest, &definition.Object); err != nil {
		return nil, fmt.Errorf("decoding the definition of ExtensionConfig: %w", err)
	}
	conversion := map[string]any{
		"strategy": "Webhook",
		"webhook":  map[string]any{"clientConfig": clientConfig, "conversionReviewVersions": []any{"v1"}},
	}
	return definition, unstructured.SetNestedMap(definition.Object, conversion, "spec", "conversion")
}

// Convert converts an ExtensionConfig, in JSON, to another version. apiVersion is the group and the version of the
// result, as in the field apiVersion.
func Convert(object []byte, apiVersion string) ([]byte, error) {
	var is struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := json.Unmarshal(object, &is); err != nil {
		return nil, err
	}
	older, stored := v1alpha1.GroupVersion().String(), v1beta2.GroupVersion().String()
	switch {
	case is.APIVersion == apiVersion:
		return object, nil
	case is.APIVersion == older && apiVersion == stored:
		config := &v1alpha1.ExtensionConfig{}
		if err := json.Unmarshal(object, config); err != nil {
			return nil, err
		}
		return json.Marshal(v1alpha1.ToV1Beta2(config))
	case is.APIVersion == stored && apiVersion == older:
		config := &v1beta2.ExtensionConfig{}
		if err := json.Unmarshal(object, config); err != nil {
			return nil, err
		}
		return json.Marshal(v1alpha1.FromV1Beta2(config))
	}
	return nil, fmt.Errorf("an ExtensionConfig converts between %s and %s, not from %q to %q", older, stored, is.APIVersion, apiVersion)
}
