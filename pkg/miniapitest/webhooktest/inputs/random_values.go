package inputs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
)

// generator makes random values that follow a schema.
type generator struct {
	random  *rand.Rand
	schemas map[string]any
	// odds is the probability that the method vary adds a field to an object. Inside a random value, the probability of
	// an optional field is odds divided by the depth.
	odds float64
	// within are the names of the schemas that contain the current value, from the depth maxDepth on. If a schema
	// refers to itself at such a depth, a value of the schema would have no end.
	within map[string]bool
}

// maxDepth is the depth at which the generator stops setting optional fields and items. Deeper values have only the
// fields and items that their schemas require, because a schema may refer to itself.
const maxDepth = 12

// resolved follows the reference of a schema to another schema, then the reference of that schema, and so on, at most
// maxDepth times. It returns the last schema, and the names in the references.
func (g *generator) resolved(schema map[string]any) (resolved map[string]any, names []string) {
	for range maxDepth {
		if all, is := schema["allOf"].([]any); is && len(all) > 0 {
			if first, is := all[0].(map[string]any); is && schema["type"] == nil && schema["properties"] == nil {
				schema = first
				continue
			}
		}
		ref, is := schema["$ref"].(string)
		if !is {
			break
		}
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		names = append(names, name)
		schema, _ = g.schemas[name].(map[string]any)
	}
	return schema, names
}

// vary adds random fields to an object. At any depth, it doesn't change fields named metadata, status, apiVersion and
// kind.
func (g *generator) vary(object, schema map[string]any) {
	schema, _ = g.resolved(schema)
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		property, _ := properties[name].(map[string]any)
		switch name {
		case "apiVersion", "kind", "metadata", "status":
			continue
		}
		switch value := object[name].(type) {
		case nil:
			if g.random.Float64() >= g.odds {
				continue
			}
			if random, ends := g.value(property, 1); ends {
				object[name] = random
			}
		case map[string]any:
			g.vary(value, property)
		case []any:
			list, _ := g.resolved(property)
			items, _ := list["items"].(map[string]any)
			for _, item := range value {
				if fields, is := item.(map[string]any); is && items != nil {
					g.vary(fields, items)
				}
			}
		}
	}
}

// value returns a random value that follows a schema. The result ends is false if each value of the schema would be
// infinite, because a required field or item refers to the schema around it.
func (g *generator) value(schema map[string]any, depth int) (random any, ends bool) {
	schema, names := g.resolved(schema)
	if depth >= maxDepth {
		for _, name := range names {
			if g.within[name] {
				return nil, false
			}
		}
		defer g.enter(names)()
	}
	if enum, is := schema["enum"].([]any); is && len(enum) > 0 {
		return enum[g.random.IntN(len(enum))], true
	}
	if value, has := schema["default"]; has && value != nil {
		if fields, is := value.(map[string]any); !is || len(fields) > 0 {
			return value, true
		}
	}
	if schema["x-kubernetes-int-or-string"] == true || schema["format"] == "int-or-string" {
		return int64(1), true
	}
	switch schema["type"] {
	case "string":
		return g.text(schema), true
	case "integer", "number":
		return g.number(schema), true
	case "boolean":
		return g.random.IntN(2) == 0, true
	case "array":
		return g.array(schema, depth)
	}
	return g.object(schema, depth)
}

// enter adds names of schemas to g.within. The caller calls leave to remove them again.
func (g *generator) enter(names []string) (leave func()) {
	if g.within == nil {
		g.within = map[string]bool{}
	}
	for _, name := range names {
		g.within[name] = true
	}
	return func() {
		for _, name := range names {
			delete(g.within, name)
		}
	}
}

// chosen tells whether the generator sets an optional field of an object. depth is the depth of the object in the whole
// value.
func (g *generator) chosen(depth int) bool {
	return depth > 0 && depth < maxDepth && g.random.Float64() < g.odds/float64(depth)
}

func (g *generator) object(schema map[string]any, depth int) (map[string]any, bool) {
	object := map[string]any{}
	required := map[string]bool{}
	list, _ := schema["required"].([]any)
	for _, name := range list {
		if text, is := name.(string); is {
			required[text] = true
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		property, _ := properties[name].(map[string]any)
		if !required[name] && (depth > 0 || name != "spec") && !g.chosen(depth) {
			continue
		}
		value, ends := g.value(property, depth+1)
		if !ends && required[name] {
			return nil, false
		}
		if ends {
			object[name] = value
		}
	}
	if additional, is := schema["additionalProperties"].(map[string]any); is && depth < maxDepth && len(properties) == 0 {
		if value, ends := g.value(additional, depth+1); ends {
			object["key"] = value
		}
	}
	return object, true
}

func (g *generator) array(schema map[string]any, depth int) ([]any, bool) {
	items, _ := schema["items"].(map[string]any)
	least, _ := schema["minItems"].(float64)
	count := int(least)
	if count == 0 && depth < maxDepth && g.random.Float64() < 0.5 {
		count = 1
	}
	array := make([]any, 0, count)
	for range count {
		item, ends := g.value(items, depth+1)
		if !ends {
			return array, least == 0
		}
		array = append(array, item)
	}
	return array, true
}

// text returns a string. For a known format, the string is a constant. Otherwise it is random, and fits minLength and
// maxLength.
func (g *generator) text(schema map[string]any) any {
	switch schema["format"] {
	case "date-time":
		return "2026-01-01T00:00:00Z"
	case "date":
		return "2026-01-01"
	case "byte":
		return "dmFsdWU="
	case "uri", "url":
		return "https://example.com/"
	case "ipv4", "ip":
		return "10.0.0.1"
	case "email":
		return "me@example.com"
	case "hostname":
		return "www.example.com"
	case "duration":
		return "1s"
	case "uuid":
		return "00000000-0000-4000-8000-000000000001"
	}
	text := string(rune('a'+g.random.IntN(26))) + fmt.Sprint(g.random.IntN(1000))
	least, _ := schema["minLength"].(float64)
	for len(text) < int(least) {
		text += "a"
	}
	if most, is := schema["maxLength"].(float64); is && len(text) > int(most) {
		text = text[:int(most)]
	}
	return text
}

// number returns a random whole number within the limits of the schema, at most maxSpan above the lower limit. If there
// is no whole number between the limits, the result is the middle of the limits, which loses its fraction for the type
// integer.
func (g *generator) number(schema map[string]any) any {
	low, high := 0.0, 100.0
	minimum, hasMinimum := schema["minimum"].(float64)
	maximum, hasMaximum := schema["maximum"].(float64)
	if hasMinimum {
		low, high = minimum, math.Max(high, minimum+1)
	}
	if hasMaximum {
		high = maximum
	}
	if hasMaximum && !hasMinimum {
		low = math.Min(low, maximum-1)
	}
	least, most := math.Ceil(low), math.Floor(high)
	if schema["exclusiveMinimum"] == true && least == low {
		least++
	}
	if schema["exclusiveMaximum"] == true && most == high {
		most--
	}
	number := (low + high) / 2
	if least <= most {
		number = least + float64(g.random.Int64N(int64(math.Min(most-least, maxSpan))+1))
	}
	if schema["type"] == "number" {
		return number
	}
	return int64(number)
}

// maxSpan is the largest difference between a random number and its lower limit. Without maxSpan, the difference
// between the limits of a schema could be too large for an int64.
const maxSpan = 1000

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
