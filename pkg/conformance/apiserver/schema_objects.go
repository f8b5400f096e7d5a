package apiserver

import (
	"strings"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// maxDepth limits the depth of an object whose schema refers to itself.
const maxDepth = 20

// smallest returns an object of a resource with only the required fields, by the schema that the server publishes. The
// second result is false if the server publishes no schema.
func smallest(t *trial.T, r trial.Resource) (trial.Object, bool) {
	path := "/openapi/v3/apis/" + r.GroupVersion()
	if r.Group == "" {
		path = "/openapi/v3/api/" + r.Version
	}
	schemas := t.Do(trial.Request{Verb: "GET", Path: path}).Object.Sub("components.schemas")
	for _, value := range schemas {
		schema, _ := value.(map[string]any)
		for _, kind := range trial.Object(schema).Objects("x-kubernetes-group-version-kind") {
			if kind["group"] == r.Group && kind["version"] == r.Version && kind["kind"] == r.Kind {
				object, _ := required(schemas, schema, 0).(map[string]any)
				delete(object, "metadata")
				return object, true
			}
		}
	}
	return nil, false
}

// required returns a value for a schema: the default, the first value of an enumeration, or a small value that respects
// minimum, minLength and minItems. An object has only the required fields. The depth is the number of references,
// fields and lists that led to the schema.
func required(schemas trial.Object, schema trial.Object, depth int) any {
	if all := schema.Objects("allOf"); len(all) > 0 && schema["type"] == nil {
		schema = all[0]
	}
	if reference := schema.Text("$ref"); reference != "" && depth < maxDepth {
		name := strings.TrimPrefix(reference, "#/components/schemas/")
		referred, _ := schemas[name].(map[string]any) // the name of a schema has dots, so it can't be used as a path
		return required(schemas, referred, depth+1)
	}
	if value := schema["default"]; value != nil {
		return value
	}
	if enum := schema.List("enum"); len(enum) > 0 {
		return enum[0]
	}
	least := func(limit string) int { n, _ := schema[limit].(float64); return int(n) }
	switch schema["type"] {
	case "string":
		return requiredText(schema.Text("format"), least("minLength"))
	case "integer", "number":
		return least("minimum")
	case "boolean":
		return false
	case "array":
		items := []any{}
		for range least("minItems") {
			items = append(items, required(schemas, schema.Sub("items"), depth+1))
		}
		return items
	}
	object := map[string]any{}
	for _, name := range schema.List("required") {
		field, _ := name.(string)
		property, _ := schema.Sub("properties")[field].(map[string]any)
		if depth < maxDepth {
			object[field] = required(schemas, property, depth+1)
		}
	}
	return object
}

// formatted maps the format of a string to a value with this format.
var formatted = map[string]string{
	"date-time": "2026-01-01T00:00:00.000000Z", "date": "2026-01-01", "byte": "dmFsdWU=", "uri": "https://example.com/", "ipv4": "198.18.0.1",
	"email": "me@example.com", "hostname": "example.com", "duration": "1s", "uuid": "00000000-0000-4000-8000-000000000001",
}

func requiredText(format string, least int) string {
	if text, known := formatted[format]; known {
		return text
	}
	return strings.Repeat("a", max(least, 1))
}
