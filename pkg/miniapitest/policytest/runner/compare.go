package runner

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/reviews"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// lasting returns an object in JSON without what differs from run to run.
func lasting(object map[string]any) (json.RawMessage, error) {
	u := (&unstructured.Unstructured{Object: object}).DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	// A recorded review has the same replacements of generated names, addresses and times.
	review, err := json.Marshal(map[string]any{"kind": "AdmissionReview", "request": map[string]any{"object": u.Object}})
	if err != nil {
		return nil, err
	}
	normal, err := reviews.Exchange{Request: review}.Normalise()
	if err != nil {
		return nil, err
	}
	var decoded struct {
		Request struct {
			Object json.RawMessage `json:"object"`
		} `json:"request"`
	}
	err = json.Unmarshal(normal.Request, &decoded)
	return decoded.Request.Object, err
}

// lacking returns lines about the parts of an expected value that a value doesn't contain. A list contains the expected
// elements in their order, and may have others.
func lacking(path string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		have, isMap := got.(map[string]any)
		if !isMap {
			break
		}
		keys := make([]string, 0, len(want))
		for key := range want {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		var lines []string
		for _, key := range keys {
			lines = append(lines, lacking(trace.Child(path, key), want[key], have[key])...)
		}
		return lines
	case []any:
		have, isList := got.([]any)
		if !isList {
			break
		}
		next := 0
		for i, element := range want {
			for next < len(have) && len(lacking("", element, have[next])) > 0 {
				next++
			}
			if next == len(have) {
				if len(want) == len(have) { // the elements at the same place say most
					return lacking(fmt.Sprintf("%s[%d]", path, i), element, have[i])
				}
				return differing(fmt.Sprintf("%s[%d]", path, i), element, got)
			}
			next++
		}
		return nil
	}
	if equal(want, got) {
		return nil
	}
	return differing(path, want, got)
}

// differing returns the line for two values that differ.
func differing(path string, want, got any) []string {
	change := trace.Change{Path: path, Before: text(want), After: text(got)}
	return []string{change.String()}
}

// equal compares two values of JSON. A number without a fraction may be an int64 or a float64.
func equal(a, b any) bool {
	return reflect.DeepEqual(a, b) || a != nil && b != nil && text(a) == text(b)
}

func text(value any) string {
	if value == nil {
		return ""
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}
