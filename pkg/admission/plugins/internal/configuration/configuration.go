// Package configuration reads the configuration files of plugins.
//
// Don't use it for the plugins of k8s.io/apiserver, because these plugins read their configurations themselves. Don't
// use it for files without apiVersion and kind, such as PodNodeSelector's.
package configuration

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kind is the kind of the configurations that the package reads.
const kind = "Configuration"

// Read decodes a Configuration. It accepts a single version, and no unknown fields.
func Read(from io.Reader, version string, into any) error {
	content, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	var given metav1.TypeMeta
	if err := yaml.Unmarshal(content, &given); err != nil {
		return err
	}
	if given.APIVersion != version || given.Kind != kind {
		return fmt.Errorf("kind %q of version %q: must be %s of %s", given.Kind, given.APIVersion, kind, version)
	}
	return yaml.UnmarshalStrict(content, into)
}
