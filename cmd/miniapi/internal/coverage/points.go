package coverage

import (
	"fmt"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy/subexpressions"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// builders add the points of objects, by the kind.
var builders = map[string]func(*object){
	trace.ValidatingPolicy:             (*object).policy,
	trace.MutatingPolicy:               (*object).policy,
	trace.ValidatingPolicy + "Binding": (*object).binding,
	trace.MutatingPolicy + "Binding":   (*object).binding,
	trace.ValidatingConfiguration:      (*object).webhooks,
	trace.MutatingConfiguration:        (*object).webhooks,
	"CustomResourceDefinition":         (*object).definition,
}

// The names of outcomes.
const (
	isTrue   = "true"
	isFalse  = "false"
	reached  = "reached"
	matched  = "matched"
	ruledOut = "ruled out"
)

// The outcomes of points.
func truth() []*Outcome {
	return []*Outcome{{Name: isTrue, missing: "never true"}, {Name: isFalse, missing: "never false"}}
}
func evaluation() []*Outcome { return []*Outcome{{Name: reached, missing: "never evaluated"}} }
func use(missing string) []*Outcome {
	return []*Outcome{{Name: reached, missing: missing}}
}
func selection() []*Outcome {
	return []*Outcome{{Name: matched, missing: "no case matches"}, {Name: ruledOut, missing: "no case is ruled out"}}
}

// each calls a function with the path of each element of a list.
func (o *object) each(path source.Path, do func(source.Path)) {
	list, _ := path.Of(o.Object.Object).([]any)
	for i := range list {
		do(path.With(i))
	}
}

// point adds a point.
func (o *object) point(path source.Path, line int, expression string, outcomes []*Outcome) *Point {
	p := &Point{
		Object: o.GetKind() + "/" + o.GetName(), Field: path.String(), File: o.place.Path, Line: line, Expression: expression, Outcomes: outcomes,
	}
	o.points = append(o.points, p)
	return p
}

// expression adds the point of an expression, and points for its conditions.
func (o *object) expression(path source.Path, outcomes []*Outcome) {
	text, isText := path.Of(o.Object.Object).(string)
	if !isText || text == "" {
		return
	}
	whole := o.point(path, o.place.LineOf(path, 0), "", outcomes)
	o.byPath[whole.Field] = whole
	parsed, err := subexpressions.Parse(text)
	if err != nil {
		return // the server evaluates it to an error
	}
	o.parsed[whole.Field] = parsed
	for _, c := range parsed.Conditions {
		var p *Point // nil for a condition whose outcomes are those of the whole
		if !c.Whole || !whole.boolean() {
			p = o.point(path, o.place.LineOf(path, c.Offset), c.Expression, truth())
			p.whole = whole
		}
		o.conditions[whole.Field] = append(o.conditions[whole.Field], p)
	}
}

func (o *object) policy() {
	o.constraints(source.Path{"spec", "matchConstraints"}, "resourceRules")
	o.each(source.Path{"spec", "matchConditions"}, func(at source.Path) { o.expression(at.With("expression"), truth()) })
	o.each(source.Path{"spec", "variables"}, func(at source.Path) { o.expression(at.With("expression"), evaluation()) })
	o.each(source.Path{"spec", "validations"}, func(at source.Path) {
		o.expression(at.With("expression"), truth())
		o.expression(at.With("messageExpression"), evaluation())
	})
	o.each(source.Path{"spec", "auditAnnotations"}, func(at source.Path) { o.expression(at.With("valueExpression"), evaluation()) })
	o.each(source.Path{"spec", "mutations"}, func(at source.Path) {
		o.expression(at.With("jsonPatch", "expression"), evaluation())
		o.expression(at.With("applyConfiguration", "expression"), evaluation())
	})
}

func (o *object) binding() {
	o.byPath["spec"] = o.point(source.Path{"spec"}, o.place.Line(source.Path{"spec", "policyName"}), "", use("never applied"))
	o.constraints(source.Path{"spec", "matchResources"}, "resourceRules")
}

func (o *object) webhooks() {
	o.each(source.Path{"webhooks"}, func(at source.Path) {
		o.byPath[at.String()] = o.point(at, o.place.Line(at.With("name")), "", use("never called"))
		o.constraints(at, "rules")
		o.each(at.With("matchConditions"), func(condition source.Path) { o.expression(condition.With("expression"), truth()) })
	})
}

// constraints adds points for rules and selectors. The argument rules is the name of the field with the rules.
func (o *object) constraints(path source.Path, rules string) {
	for _, field := range []string{rules, "excludeResourceRules"} {
		o.each(path.With(field), func(rule source.Path) {
			o.elements(rule.With("operations"), "no case has the operation %s")
			o.elements(rule.With("resources"), "no case is for %s")
			for _, other := range []string{"apiGroups", "apiVersions"} {
				if list, _ := rule.With(other).Of(o.Object.Object).([]any); len(list) > 1 {
					o.elements(rule.With(other), "no case is for %q")
				}
			}
		})
	}
	for _, field := range []string{"namespaceSelector", "objectSelector"} {
		at := path.With(field)
		if selector, _ := at.Of(o.Object.Object).(map[string]any); len(selector) > 0 {
			o.byPath[at.String()] = o.point(at, o.place.Line(at), "", selection())
		}
	}
}

// elements adds a point for each element of a list.
func (o *object) elements(list source.Path, missing string) {
	o.each(list, func(at source.Path) {
		value, _ := at.Of(o.Object.Object).(string)
		p := o.point(at, o.place.Line(at), "", use(fmt.Sprintf(missing, value)))
		p.list, p.value = p.Object+list.String(), value
		o.byPath[at.String()] = p
	})
}
