package policycheck

import (
	"fmt"
	"maps"
	"slices"
)

// expression is a CEL expression of an object, with its path.
type expression struct{ field, text string }

// expressionKeys are the keys of expressions in policies and webhook configurations.
var expressionKeys = []string{"expression", "messageExpression", "valueExpression"}

// expressionsOf returns the expressions of a value of an object in the order of their paths.
func expressionsOf(value any, field string) []expression {
	var all []expression
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			all = append(all, expressionsOf(element, fmt.Sprintf("%s[%d]", field, i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			at := key
			if field != "" {
				at = field + "." + key
			}
			if text, isText := value[key].(string); isText && slices.Contains(expressionKeys, key) {
				all = append(all, expression{at, text})
				continue
			}
			all = append(all, expressionsOf(value[key], at)...)
		}
	}
	return all
}
