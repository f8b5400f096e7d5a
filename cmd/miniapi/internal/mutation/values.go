package mutation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/lazy"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy/subexpressions"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/manifests/source"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// The functions of this file evaluate a mutated expression with the recorded variables of a request. If the value is that of the
// original expression, the server would answer the request as before, so the case needn't run. An expression that needs what
// the record lacks, such as the authorizer, has no value here, and the case runs.

// variables are the variables of the expressions of validating policies in a pass of a request through admission. They don't hold
// the record, which is much larger.
type variables struct{ decode func() map[string]any }

func newVariables(request *trace.Request, pass *trace.Admission) *variables {
	objects := map[string]json.RawMessage{"object": pass.Admitted, "oldObject": pass.OldObject}
	if pass.Admitted == nil {
		objects["object"] = pass.Object
	}
	known := map[string]any{
		// A name with dots is that of an attribute. An expression with another attribute of the request has no value.
		"request.operation": pass.Operation, "request.name": pass.Name, "request.namespace": pass.Namespace,
		"request.userInfo.username": request.User.Name, "request.userInfo.groups": request.User.Groups,
	}
	return &variables{sync.OnceValue(func() map[string]any {
		for name, text := range objects {
			if value, complete := decoded(text); complete {
				known[name] = value
			}
		}
		return known
	})}
}

// decoded returns a recorded object. It returns false for one that has redacted values.
func decoded(text json.RawMessage) (value any, complete bool) {
	if text == nil {
		return nil, true
	}
	return value, utiljson.Unmarshal(text, &value) == nil && !bytes.Contains(text, []byte(trace.Redacted))
}

// input is a recorded evaluation of an expression.
type input struct {
	*variables
	// converted is true if the policy matched by another version of the resource, which the record doesn't have.
	converted bool
	param     *trace.Param
	// value is the recorded value of the expression.
	value string
}

// alternatives are the programs of an expression and of its mutation, and those of the policy's variables.
type alternatives struct {
	original, mutated celgo.Program
	variables         map[string]celgo.Program
}

// compile compiles the mutated expression. It returns nil for a mutation whose values can't be compared.
func (m *Mutation) compile(original map[string]any) *alternatives {
	if m.mutant.GetKind() != trace.ValidatingPolicy {
		return nil // the record doesn't have the object at each mutation
	}
	path := source.ParsePath(m.expression)
	before, _ := path.Of(original).(string)
	after, _ := path.Of(m.mutant.Object).(string)
	all := &alternatives{variables: map[string]celgo.Program{}}
	var err error
	if all.original, err = program(before); err != nil {
		return nil
	}
	if all.mutated, err = program(after); err != nil {
		return nil
	}
	list, _ := source.Path{"spec", "variables"}.Of(original).([]any)
	for i := range list {
		name, _ := source.Path{i, "name"}.Of(list).(string)
		text, _ := source.Path{i, "expression"}.Of(list).(string)
		if all.variables[name], err = program(text); err != nil {
			return nil
		}
	}
	return all
}

// program compiles an expression without the types of its variables.
func program(expression string) (celgo.Program, error) {
	env, err := subexpressions.Environment()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.PlanProgram(parsed.NativeRep(), celgo.CostLimit(celconfig.PerCallLimit))
}

// changes reports whether the mutated expression has, or may have, another value than the original one.
func (m *Mutation) changes(in *input) bool {
	all := m.alternatives()
	if all == nil || in.converted {
		return true
	}
	known, err := in.activation(all.variables)
	if err != nil {
		return true
	}
	before, _, err := all.original.Eval(known)
	if _, isBool := before.(types.Bool); err != nil || isBool && fmt.Sprint(before) != in.value {
		return true
	}
	after, _, err := all.mutated.Eval(known)
	return err != nil || before.Type() != after.Type() || before.Equal(after) != types.True
}

// activation returns the variables of the evaluation.
func (in *input) activation(variables map[string]celgo.Program) (interpreter.Activation, error) {
	own := map[string]any{}
	if in.param == nil {
		own["params"] = nil
	} else if object, complete := decoded(in.param.Object); complete && object != nil {
		own["params"] = object
	}
	composed := lazy.NewMapValue(types.NewObjectType("variables"))
	own["variables"] = composed
	outer, err := interpreter.NewActivation(in.decode())
	if err != nil {
		return nil, err
	}
	inner, err := interpreter.NewActivation(own)
	if err != nil {
		return nil, err
	}
	known := interpreter.NewHierarchicalActivation(outer, inner)
	for name, program := range variables {
		composed.Append(name, func(*lazy.MapValue) ref.Val {
			value, _, err := program.Eval(known)
			if err != nil {
				return types.WrapErr(err)
			}
			return value
		})
	}
	return known, nil
}
