package trace

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// Redacted takes the place of a secret value.
const Redacted = "(redacted)"

// lastApplied is the annotation in which kubectl apply keeps a copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// secretFields are the paths of secret values, by kind. A path leads to a value, or to a map whose values are all
// secret.
var secretFields = map[Kind][][]string{
	{Version: "v1", Kind: "Secret"}:                                       {{"data"}, {"stringData"}, {"metadata", "annotations", lastApplied}},
	{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenReview"}:  {{"spec", "token"}, {"metadata", "annotations", lastApplied}},
	{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"}: {{"status", "token"}},
}

// fieldsOf returns the paths of a kind's secret values. All versions of a kind have the same paths.
func fieldsOf(kind Kind) [][]string {
	kind.Version = "v1"
	return secretFields[kind]
}

// hasSecrets reports whether objects of a kind have secret values.
func hasSecrets(kind Kind) bool { return fieldsOf(kind) != nil }

// redactObject replaces the secrets of an object.
func redactObject(kind Kind, object []byte) json.RawMessage {
	fields := fieldsOf(kind)
	if fields == nil {
		return object
	}
	var content any
	if json.Unmarshal(object, &content) != nil {
		return nil
	}
	return encoded(redactFields(fields, content))
}

func redactFields(fields [][]string, content any) any {
	for _, path := range fields {
		content = redactPath(content, path)
	}
	return content
}

// redactPath replaces the value at a path.
func redactPath(content any, path []string) any {
	if len(path) == 0 {
		return redactValues(content)
	}
	if object, ok := content.(map[string]any); ok {
		if value, ok := object[path[0]]; ok {
			object[path[0]] = redactPath(value, path[1:])
		}
	}
	return content
}

// redactValues replaces a value, or the values of a map, whose keys stay.
func redactValues(content any) any {
	switch content := content.(type) {
	case nil:
		return nil
	case map[string]any:
		for key := range content {
			content[key] = Redacted
		}
		return content
	}
	return Redacted
}

// redactReview replaces the secrets in the objects and the patch of an AdmissionReview.
func redactReview(kind Kind, review []byte) json.RawMessage {
	fields := fieldsOf(kind)
	if fields == nil {
		return review
	}
	var content map[string]any
	if json.Unmarshal(review, &content) != nil {
		return nil
	}
	if request, ok := content["request"].(map[string]any); ok {
		for _, field := range []string{"object", "oldObject"} {
			request[field] = redactFields(fields, request[field])
		}
	}
	if response, ok := content["response"].(map[string]any); ok {
		if patch, ok := response["patch"].(string); ok {
			decoded, _ := base64.StdEncoding.DecodeString(patch)
			response["patch"] = base64.StdEncoding.EncodeToString(redactPatch(kind, decoded))
		}
	}
	return encoded(content)
}

// redactPatch replaces the values of a JSON patch that go to secrets, or contain them.
func redactPatch(kind Kind, patch []byte) json.RawMessage {
	fields := fieldsOf(kind)
	if fields == nil {
		return patch
	}
	var operations []map[string]any
	if json.Unmarshal(patch, &operations) != nil {
		return nil
	}
	for _, operation := range operations {
		path, _ := operation["path"].(string)
		value, ok := operation["value"]
		if !ok {
			continue
		}
		for _, field := range fields {
			value = redactTarget(segments(path), field, value)
		}
		operation["value"] = value
	}
	return encoded(operations)
}

// redactTarget replaces the secrets of a field in a value at a path: the path leads to the field, into it or above it.
func redactTarget(path, field []string, value any) any {
	for len(path) > 0 && len(field) > 0 && path[0] == field[0] {
		path, field = path[1:], field[1:]
	}
	if len(path) > 0 && len(field) > 0 {
		return value
	}
	return redactPath(value, field)
}

// segments splits a JSON pointer.
func segments(pointer string) []string {
	if pointer == "" {
		return nil
	}
	all := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, segment := range all {
		all[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
	}
	return all
}

func encoded(content any) json.RawMessage {
	raw, _ := json.Marshal(content) // decoded JSON can be encoded
	return raw
}
