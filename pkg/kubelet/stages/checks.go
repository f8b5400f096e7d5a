package stages

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/cel"
	"sigs.k8s.io/kwok/pkg/utils/expression"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
)

// checkSpec returns the errors of a stage's spec, which kwok's engine would find when an object comes to the stage.
func checkSpec(at *field.Path, spec *internalversion.StageSpec) field.ErrorList {
	var errs field.ErrorList
	ref := at.Child("resourceRef")
	if spec.ResourceRef.Kind == "" {
		errs = append(errs, field.Required(ref.Child("kind"), ""))
	}
	if _, err := schema.ParseGroupVersion(spec.ResourceRef.APIGroup); err != nil {
		errs = append(errs, field.Invalid(ref.Child("apiGroup"), spec.ResourceRef.APIGroup, "must be a group and a version, such as apps/v1"))
	}
	e := expressions{sample: sampleOf(kindOf(spec.ResourceRef.APIGroup, spec.ResourceRef.Kind))}
	if s := spec.Selector; s != nil {
		at := at.Child("selector")
		errs = append(errs, metav1validation.ValidateLabels(s.MatchLabels, at.Child("matchLabels"))...)
		for i, m := range s.MatchExpressions {
			at := at.Child("matchExpressions").Index(i)
			switch {
			case m.JQ != nil:
				if _, err := expression.NewRequirement(m.JQ.Key, m.JQ.Operator, m.JQ.Values); err != nil {
					errs = append(errs, field.Invalid(at.Child("jq"), m.JQ.Key, err.Error()))
				}
			case m.CEL != nil:
				errs = append(errs, e.cel(at.Child("cel"), m.CEL)...)
			default:
				errs = append(errs, field.Required(at, "must have jq or cel"))
			}
		}
	}
	if spec.Weight < 0 {
		errs = append(errs, field.Invalid(at.Child("weight"), spec.Weight, "must not be negative"))
	}
	errs = append(errs, e.value(at.Child("weightFrom"), spec.WeightFrom)...)
	if d := spec.Delay; d != nil {
		at := at.Child("delay")
		errs = append(errs, notNegative(at.Child("durationMilliseconds"), d.DurationMilliseconds)...)
		errs = append(errs, notNegative(at.Child("jitterDurationMilliseconds"), d.JitterDurationMilliseconds)...)
		errs = append(errs, e.value(at.Child("durationFrom"), d.DurationFrom)...)
		errs = append(errs, e.value(at.Child("jitterDurationFrom"), d.JitterDurationFrom)...)
	}
	for i, step := range spec.Steps {
		at := at.Child("steps").Index(i)
		if p := step.Patch; p != nil {
			errs = append(errs, e.template(at.Child("patch", "template"), p.Template)...)
			errs = append(errs, patchType(at.Child("patch", "type"), p.Type, "json", "merge", "strategic")...)
		}
		if a := step.Apply; a != nil {
			errs = append(errs, e.template(at.Child("apply", "template"), a.Template)...)
			errs = append(errs, patchType(at.Child("apply", "type"), a.Type, "apply", "merge", "strategic")...)
		}
	}
	return errs
}

func notNegative(at *field.Path, n *int64) field.ErrorList {
	if n != nil && *n < 0 {
		return field.ErrorList{field.Invalid(at, *n, "must not be negative")}
	}
	return nil
}

func patchType(at *field.Path, t *internalversion.StagePatchType, possible ...internalversion.StagePatchType) field.ErrorList {
	for _, p := range possible {
		if t == nil || *t == p {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(at, *t, possible)}
}

// expressions checks expressions about objects of the kind of sample.
type expressions struct{ sample any }

func (e expressions) value(at *field.Path, from *internalversion.ExpressionFrom) field.ErrorList {
	switch {
	case from == nil:
		return nil
	case from.CEL != nil:
		return e.cel(at.Child("cel"), from.CEL)
	case from.JQ != nil:
		if _, err := expression.NewQuery(from.JQ.Expression); err != nil {
			return field.ErrorList{field.Invalid(at.Child("jq", "expression"), from.JQ.Expression, err.Error())}
		}
		return nil
	}
	return field.ErrorList{field.Required(at, "must have jq or cel")}
}

func (e expressions) cel(at *field.Path, c *internalversion.ExpressionCEL) field.ErrorList {
	celTypes.Lock()
	defer celTypes.Unlock()
	env, err := cel.NewEnvironment(cel.EnvironmentConfig{
		Types:       cel.DefaultTypes,
		Conversions: cel.DefaultConversions,
		Funcs:       cel.DefaultFuncs,
		Methods:     cel.FuncsToMethods(cel.DefaultFuncs),
		Vars:        map[string]any{"self": e.self()},
	})
	if err == nil {
		_, err = env.Compile(c.Expression)
	}
	if err != nil {
		return field.ErrorList{field.Invalid(at.Child("expression"), c.Expression, err.Error())}
	}
	return nil
}

// self returns what CEL knows as self.
func (e expressions) self() any {
	if u, ok := e.sample.(*unstructured.Unstructured); ok {
		return u.Object
	}
	return e.sample
}

// template checks that a template can be parsed. Whether it can be executed depends on the object.
func (e expressions) template(at *field.Path, text string) field.ErrorList {
	_, err := gotpl.NewRenderer(parsed()).ToText(text, e.self())
	if err != nil && strings.HasPrefix(err.Error(), "build template: ") {
		return field.ErrorList{field.Invalid(at, text, err.Error())}
	}
	return nil
}
