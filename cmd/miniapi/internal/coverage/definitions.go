package coverage

import (
	"encoding/json"
	"strings"

	"github.com/miniapi-dev/miniapi/cmd/miniapi/internal/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// schemaRule is a rule (x-kubernetes-validations) of a version of a definition.
type schemaRule struct {
	kind trace.Kind
	at   *Point
	// of is the path of the values that the rule is about; element stands for each element of a list or a map.
	of            []string
	rule, message string
}

// element stands for each element in the path of values.
const element = "[]"

// definition adds the points of the rules of a CustomResourceDefinition.
func (o *object) definition() {
	o.each(source.Path{"spec", "versions"}, func(version source.Path) {
		name, _ := version.With("name").Of(o.Object.Object).(string)
		group, _ := source.Path{"spec", "group"}.Of(o.Object.Object).(string)
		kind, _ := source.Path{"spec", "names", "kind"}.Of(o.Object.Object).(string)
		o.schema(version.With("schema", "openAPIV3Schema"), trace.Kind{Group: group, Version: name, Kind: kind}, nil)
	})
}

// schema adds the points of a schema's rules. The argument of is the path of the values with the schema.
func (o *object) schema(at source.Path, kind trace.Kind, of []string) {
	fields, isSchema := at.Of(o.Object.Object).(map[string]any)
	if !isSchema {
		return
	}
	o.each(at.With("x-kubernetes-validations"), func(rule source.Path) {
		path := rule.With("rule")
		text, _ := path.Of(o.Object.Object).(string)
		message, _ := rule.With("message").Of(o.Object.Object).(string)
		p := o.point(path, o.place.LineOf(path, 0), "", truth())
		o.rules = append(o.rules, schemaRule{kind, p, of, text, message})
	})
	properties, _ := fields["properties"].(map[string]any)
	for name := range properties {
		o.schema(at.With("properties", name), kind, append(of[:len(of):len(of)], name))
	}
	for _, each := range []string{"items", "additionalProperties"} {
		o.schema(at.With(each), kind, append(of[:len(of):len(of)], element))
	}
}

// reachSchema counts the rules of a definition. The record doesn't have their values: all rules are true for an object that
// is valid, as far as it has the fields that they are about, and the error of another object has the rules that are false.
func (o *object) reachSchema(request *trace.Request, pass *trace.Admission) {
	if pass.Validation == nil {
		return
	}
	var object, old any
	decoded := false
	for _, rule := range o.rules {
		if rule.kind != pass.Kind {
			continue
		}
		if refused := pass.Validation.Error; refused != nil {
			if rule.message != "" && strings.Contains(refused.Message, rule.message) || strings.Contains(refused.Message, "failed rule: "+rule.rule) {
				rule.at.count(isFalse, 1)
			}
			continue
		}
		if !decoded {
			_, _ = json.Unmarshal(pass.Admitted, &object), json.Unmarshal(pass.OldObject, &old) // a missing object has no fields
			decoded = true
		}
		if has(object, rule.of) && (!strings.Contains(rule.rule, "oldSelf") || has(old, rule.of)) {
			rule.at.count(isTrue, 1)
		}
	}
}

// has tells whether an object has a value at a path.
func has(value any, path []string) bool {
	if value == nil || len(path) == 0 {
		return value != nil
	}
	switch value := value.(type) {
	case map[string]any:
		if path[0] != element {
			return has(value[path[0]], path[1:])
		}
		for _, inner := range value {
			if has(inner, path[1:]) {
				return true
			}
		}
	case []any:
		for _, inner := range value {
			if path[0] == element && has(inner, path[1:]) {
				return true
			}
		}
	}
	return false
}
