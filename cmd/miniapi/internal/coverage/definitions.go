package coverage

import (
	"context"
	"strings"

	"github.com/google/cel-go/interpreter"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy/subexpressions"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// schemaRule is a rule (x-kubernetes-validations) of a version of a definition.
type schemaRule struct {
	kind trace.Kind
	at   *Point
	// of is the path of the values that the rule is about; element stands for each element of a list or a map.
	of            []string
	rule, message string
	// transition is true for a rule about the old value, too.
	transition bool
	// schema is the schema of the whole object, and parsed the rule with its conditions. Both are nil for a rule whose
	// conditions aren't counted.
	schema     *structuralschema.Structural
	parsed     *subexpressions.Expression
	conditions []*Point
}

// element stands for each element in the path of values.
const element = "[]"

// definition adds the points of the rules of a CustomResourceDefinition.
func (o *object) definition() {
	o.each(source.Path{"spec", "versions"}, func(version source.Path) {
		name, _ := version.With("name").Of(o.Object.Object).(string)
		group, _ := source.Path{"spec", "group"}.Of(o.Object.Object).(string)
		kind, _ := source.Path{"spec", "names", "kind"}.Of(o.Object.Object).(string)
		at := version.With("schema", "openAPIV3Schema")
		first := len(o.rules)
		o.schema(at, trace.Kind{Group: group, Version: name, Kind: kind}, nil)
		schema := structural(at.Of(o.Object.Object))
		for i := range o.rules[first:] {
			o.rules[first+i].schema = schema
		}
	})
}

// structural returns a schema in the form with which the server evaluates rules, or nil for a schema that the server refuses.
func structural(given any) *structuralschema.Structural {
	fields, _ := given.(map[string]any)
	versioned, internal := &apiextensionsv1.JSONSchemaProps{}, &apiextensions.JSONSchemaProps{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, versioned) != nil ||
		apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(versioned, internal, nil) != nil {
		return nil
	}
	schema, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil
	}
	return model.WithTypeAndObjectMeta(schema)
}

// schema adds the points of a schema's rules. The argument of is the path of the values with the schema.
func (o *object) schema(at source.Path, kind trace.Kind, of []string) {
	fields, isSchema := at.Of(o.Object.Object).(map[string]any)
	if !isSchema {
		return
	}
	o.each(at.With("x-kubernetes-validations"), func(rule source.Path) {
		o.rules = append(o.rules, o.schemaRule(rule, kind, of))
	})
	properties, _ := fields["properties"].(map[string]any)
	for name := range properties {
		o.schema(at.With("properties", name), kind, append(of[:len(of):len(of)], name))
	}
	for _, each := range []string{"items", "additionalProperties"} {
		o.schema(at.With(each), kind, append(of[:len(of):len(of)], element))
	}
}

// schemaRule adds the points of a rule, and of the conditions within it.
func (o *object) schemaRule(rule source.Path, kind trace.Kind, of []string) schemaRule {
	path := rule.With("rule")
	text, _ := path.Of(o.Object.Object).(string)
	message, _ := rule.With("message").Of(o.Object.Object).(string)
	optional, _ := rule.With("optionalOldSelf").Of(o.Object.Object).(bool)
	whole := o.point(path, o.place.LineOf(path, 0), "", truth())
	r := schemaRule{kind: kind, at: whole, of: of, rule: text, message: message, transition: strings.Contains(text, "oldSelf")}
	parsed, err := subexpressions.Parse(text)
	if err != nil || optional || r.transition && strings.Contains(strings.Join(of, "/"), element) {
		return r // the record doesn't say which old element an element had
	}
	r.parsed = parsed
	for _, c := range parsed.Conditions {
		var p *Point // nil for a condition whose outcomes are those of the whole
		if !c.Whole {
			p = o.point(path, o.place.LineOf(path, c.Offset), c.Expression, truth())
			p.whole = whole
		}
		r.conditions = append(r.conditions, p)
	}
	return r
}

// reachSchema counts the rules of a definition. The record doesn't have their values: all rules are true for an object that
// is valid, as far as it has the fields that they are about, and the error of another object has the rules that are false.
// The conditions within the rules are evaluated with the recorded objects.
func (o *object) reachSchema(request *trace.Request, pass *trace.Admission) {
	if pass.Validation == nil {
		return
	}
	refused := pass.Validation.Error
	recorded := pass.Admitted
	if recorded == nil {
		recorded = pass.Object
	}
	var object, old any
	decoded := false
	for _, rule := range o.rules {
		if rule.kind != pass.Kind {
			continue
		}
		if !decoded {
			_, _ = utiljson.Unmarshal(recorded, &object), utiljson.Unmarshal(pass.OldObject, &old) // a missing object has no fields
			decoded = true
		}
		switch {
		case refused == nil && has(object, rule.of) && (!rule.transition || has(old, rule.of)):
			rule.at.count(isTrue, 1)
		case refused != nil && (rule.message != "" && strings.Contains(refused.Message, rule.message) || strings.Contains(refused.Message, "failed rule: "+rule.rule)):
			rule.at.count(isFalse, 1)
		}
		if refused == nil || !strings.Contains(refused.Message, uncheckedRules) {
			rule.reach(object, old)
		}
	}
}

// uncheckedRules is a part of the error for an object whose rules the server hasn't evaluated, because the object doesn't fit the
// rest of the schema.
const uncheckedRules = "some validation rules were not checked"

// reach counts the conditions within a rule for all values of an object that the rule is about.
func (r *schemaRule) reach(object, old any) {
	if r.parsed == nil || r.schema == nil {
		return
	}
	var olds []any
	if r.transition {
		if each(old, r.schema, r.of, func(value any, _ *structuralschema.Structural) { olds = append(olds, value) }); len(olds) == 0 {
			return
		}
	}
	each(object, r.schema, r.of, func(value any, schema *structuralschema.Structural) {
		variables := map[string]any{cel.ScopedVarName: cel.UnstructuredToVal(value, schema)}
		if r.transition {
			variables[cel.OldScopedVarName] = cel.UnstructuredToVal(olds[0], schema)
		}
		known, err := interpreter.NewActivation(variables)
		if err != nil {
			return
		}
		for i, outcome := range r.parsed.Evaluate(context.Background(), known).Conditions {
			if p := r.conditions[i]; p != nil {
				p.count(isTrue, outcome.True)
				p.count(isFalse, outcome.False)
			}
		}
	})
}

// each calls a function with the values at a path, and their schemas.
func each(value any, schema *structuralschema.Structural, path []string, do func(any, *structuralschema.Structural)) {
	if value == nil || schema == nil {
		return
	}
	if len(path) == 0 {
		do(value, schema)
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if path[0] != element {
			inner := schema.Properties[path[0]]
			each(value[path[0]], &inner, path[1:], do)
		} else if schema.AdditionalProperties != nil {
			for _, one := range value {
				each(one, schema.AdditionalProperties.Structural, path[1:], do)
			}
		}
	case []any:
		if path[0] == element {
			for _, one := range value {
				each(one, schema.Items, path[1:], do)
			}
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
