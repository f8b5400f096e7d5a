// Package configuration reads the configurations of plugins that have a file format of their own. The plugins of
// k8s.io/apiserver read theirs themselves. The package isn't for files without apiVersion and kind, such as
// PodNodeSelector's.
package configuration

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kind is the kind of every plugin's configuration.
const kind = "Configuration"

// Read reads a Configuration of the only version. Unknown fields are errors.
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
		return fmt.Errorf("no kind %q is registered for version %q; known is %s of %s", given.Kind, given.APIVersion, kind, version)
	}
	return yaml.UnmarshalStrict(content, into)
}
