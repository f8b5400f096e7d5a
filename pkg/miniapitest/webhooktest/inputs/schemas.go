package inputs

import (
	"encoding/json"
	"fmt"
)

// schema returns the OpenAPI schema of a resource's objects, or nil if the server publishes none.
func (s *Source) schema(r *resource) (map[string]any, error) {
	version := r.GroupVersion().String()
	if _, read := s.schemas[version]; !read {
		path := "apis/" + version
		if r.Group == "" {
			path = "api/" + version
		}
		paths, err := s.client.Discovery().OpenAPIV3().Paths()
		if err != nil {
			return nil, fmt.Errorf("listing the OpenAPI documents of the server: %w", err)
		}
		s.schemas[version] = nil
		if of, has := paths[path]; has {
			body, err := of.Schema("application/json")
			if err != nil {
				return nil, fmt.Errorf("reading the OpenAPI schemas of %s: %w", version, err)
			}
			var document struct {
				Components struct {
					Schemas map[string]any `json:"schemas"`
				} `json:"components"`
			}
			if err := json.Unmarshal(body, &document); err != nil {
				return nil, fmt.Errorf("reading the OpenAPI schemas of %s: %w", version, err)
			}
			s.schemas[version] = document.Components.Schemas
		}
	}
	for _, value := range s.schemas[version] {
		schema, _ := value.(map[string]any)
		kinds, _ := schema["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			kind, _ := k.(map[string]any)
			if kind["group"] == r.Group && kind["version"] == r.Version && kind["kind"] == r.kind {
				return schema, nil
			}
		}
	}
	return nil, nil
}
