package inputs

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed samples.yaml
var samplesYAML []byte

// samples maps a group version, such as apps/v1, and a kind to a sample object.
type samples map[string]map[string]map[string]any

func readSamples() (samples, error) {
	var s samples
	if err := yaml.Unmarshal(samplesYAML, &s); err != nil {
		return nil, fmt.Errorf("the embedded file samples.yaml: %w", err)
	}
	return s, nil
}

// of returns a copy of the sample of a resource, or nil.
func (s samples) of(r *resource) *unstructured.Unstructured {
	version := r.GroupVersion().String()
	if r.Group == "" {
		version = "core/" + r.Version
	}
	sample, has := s[version][r.kind]
	if !has {
		return nil
	}
	u, err := asUnstructured(sample)
	if err != nil {
		return nil
	}
	return u
}

// asUnstructured returns a copy of an object. Its numbers have the Go types that package unstructured requires.
func asUnstructured(object map[string]any) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := json.Unmarshal(body, &u.Object); err != nil {
		return nil, err
	}
	return u, nil
}
