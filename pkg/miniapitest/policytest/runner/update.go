package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"
)

// Update writes the actual objects of results to the files that expect.object names, where they differ, and removes these
// findings. It returns the paths of the files.
func Update(results []*Result) ([]string, error) {
	var updated []string
	for _, r := range results {
		expected := r.planned.Expect.Object
		at := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Field == "object" })
		if expected == nil || expected.Path == "" || at < 0 {
			continue
		}
		content, err := manifest(r.object)
		if err != nil {
			return updated, err
		}
		path := r.file.At(expected.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return updated, err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return updated, err
		}
		updated = append(updated, path)
		r.Findings = slices.Delete(r.Findings, at, at+1)
	}
	return updated, nil
}

// manifest returns the YAML of an object without what differs from run to run.
func manifest(object map[string]any) ([]byte, error) {
	encoded, err := lasting(object)
	if err != nil {
		return nil, err
	}
	var decoded map[string]any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err = encoder.Encode(decoded)
	return text.Bytes(), err
}
