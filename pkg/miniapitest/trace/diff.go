package trace

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Change is the change of one field between two versions of an object.
type Change struct {
	// Path is the path of the field, such as metadata.labels.team or spec.containers[0].image.
	Path string `json:"path"`
	// Before and After are the values of the field, in JSON. Before is empty if the field is new. After is empty if
	// the field is removed.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// String returns the change as a line of a diff.
func (c Change) String() string {
	switch {
	case c.Before == "":
		return fmt.Sprintf("+ %s: %s", c.Path, c.After)
	case c.After == "":
		return fmt.Sprintf("- %s: %s", c.Path, c.Before)
	}
	return fmt.Sprintf("~ %s: %s -> %s", c.Path, c.Before, c.After)
}

// Diff compares two objects in JSON, and returns a Change for each field that differs. It leaves out metadata.managedFields.
func Diff(before, after json.RawMessage) []Change {
	var from, to any
	// An object that can't be decoded counts as missing.
	_ = json.Unmarshal(before, &from)
	_ = json.Unmarshal(after, &to)
	var changes []Change
	diff("", from, to, &changes)
	return changes
}

func diff(path string, before, after any, changes *[]Change) {
	if path == "metadata.managedFields" || reflect.DeepEqual(before, after) {
		return
	}
	switch from := before.(type) {
	case map[string]any:
		if to, ok := after.(map[string]any); ok {
			diffObjects(path, from, to, changes)
			return
		}
	case []any:
		if to, ok := after.([]any); ok && len(from) > 0 && len(to) > 0 {
			diffLists(path, from, to, changes)
			return
		}
	}
	*changes = append(*changes, Change{Path: path, Before: text(before), After: text(after)})
}

func diffObjects(path string, from, to map[string]any, changes *[]Change) {
	var keys []string
	for _, object := range []map[string]any{from, to} {
		for key := range object {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		diff(Child(path, key), from[key], to[key], changes)
	}
}

func diffLists(path string, from, to []any, changes *[]Change) {
	for i := range max(len(from), len(to)) {
		diff(fmt.Sprintf("%s[%d]", path, i), at(from, i), at(to, i), changes)
	}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// Child returns the path of a key in the object at a path. A key with a dot, a slash or an opening bracket is quoted.
func Child(path, key string) string {
	if strings.ContainsAny(key, "./[") {
		return fmt.Sprintf("%s[%q]", path, key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// text returns the JSON of a field's value, or the empty string if the field doesn't exist or is null.
func text(value any) string {
	if value == nil {
		return ""
	}
	raw, _ := json.Marshal(value) // the error is impossible: the value was decoded from JSON
	return string(raw)
}
