// Package subexpressions records the values of the parts of CEL expressions while the expressions are evaluated: the parts
// that explain the value of the whole, and the conditions that decide which other parts are evaluated. [Parse] finds the
// parts of an expression, and [Expression.Evaluate] returns their values.
//
// An evaluation here has the values of the evaluation that decides about a request, but not its limits of cost. So don't
// use the package to decide.
package subexpressions

import (
	"context"
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

// observe is the function that passes the value of a part on, and records it. sink is the variable with the records. No
// author can write these names, because identifiers don't have an @.
const (
	observe = "@observe"
	sink    = "@sink"
)

// Environment returns the CEL environment in which expressions of policies are parsed. It keeps the calls of macros, and has
// no variables: the expressions of a policy are compiled elsewhere.
var Environment = sync.OnceValues(func() (*celgo.Env, error) {
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
	if err != nil {
		return nil, err
	}
	return env.Extend(
		celgo.EnableMacroCallTracking(),
		common.ResolverEnvOption(&mutation.DynamicTypeResolver{}),
		library.JSONPatch(),
		celgo.Function(observe, celgo.Overload(observe, []*celgo.Type{celgo.DynType, celgo.IntType, celgo.DynType}, celgo.DynType,
			celgo.OverloadIsNonStrict(), celgo.FunctionBinding(record))),
	)
})

// record is the implementation of observe. Its arguments are the records, the index of a part, and the value of the part.
func record(args ...ref.Val) ref.Val {
	if values, ok := args[0].(*observed); ok {
		i, _ := args[1].(types.Int)
		values.of[i] = append(values.of[i], args[2])
	}
	return args[2]
}

// observed has the values of the parts of an expression. It embeds a value of CEL, because it is the value of a variable.
type observed struct {
	types.Null
	of [][]ref.Val
}

// ResolveName implements interpreter.Activation.
func (o *observed) ResolveName(name string) (any, bool) { return o, name == sink }

// Parent implements interpreter.Activation.
func (o *observed) Parent() interpreter.Activation { return nil }

// Expression is an expression with its parts.
type Expression struct {
	// Conditions are the conditions of the expression, in the order of the text.
	Conditions []Condition

	parts   []part
	nodes   []int64 // the ids of the observed nodes
	program celgo.Program
}

// Parse returns an expression with its parts.
func Parse(expression string) (*Expression, error) {
	env, err := Environment()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	native := parsed.NativeRep()
	e := &Expression{Conditions: conditionsOf(native), parts: partsOf(native)}
	for _, c := range e.Conditions {
		e.nodes = append(e.nodes, c.node)
	}
	for _, p := range e.parts {
		e.nodes = append(e.nodes, p.node)
	}
	e.instrument(native.Expr())
	if e.program, err = env.PlanProgram(native, celgo.InterruptCheckFrequency(celconfig.CheckFrequency)); err != nil {
		return nil, fmt.Errorf("planning the expression: %w", err)
	}
	return e, nil
}

// instrument replaces each observed node by calls of observe with the node.
func (e *Expression) instrument(root ast.Expr) {
	at := map[int64][]int{}
	for i, node := range e.nodes {
		at[node] = append(at[node], i)
	}
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(expr ast.Expr) {
		for _, i := range at[expr.ID()] {
			expr.SetKindCase(factory.NewCall(expr.ID(), observe, factory.NewIdent(0, sink), factory.NewLiteral(0, types.Int(i)), factory.CopyExpr(expr)))
		}
	}))
}

// Values are the values of the parts in one evaluation.
type Values struct {
	// Result is the value of the whole, or nil if the evaluation failed.
	Result ref.Val
	// Parts are the values of the evaluated parts that explain the value of the whole, in the order of the text.
	Parts []Value
	// Conditions are the outcomes of the conditions, by the index of the condition.
	Conditions []Outcome
}

// Value is the value of a part, or its error as a *types.Err. For a macro such as LIST.all(x, P), the part LIST.map(x, P) has
// the values of P for the elements that were evaluated.
type Value struct {
	Expression string
	Value      ref.Val
}

// Outcome has the numbers of evaluations in which a condition was true and in which it was false. A condition in a macro is
// evaluated for each element, and one that an operator such as && skips isn't evaluated.
type Outcome struct{ True, False int }

// Evaluate evaluates the expression with the variables of an activation, and returns the values of its parts.
func (e *Expression) Evaluate(ctx context.Context, variables interpreter.Activation) Values {
	values := &observed{of: make([][]ref.Val, len(e.nodes))}
	result := Values{Conditions: make([]Outcome, len(e.Conditions))}
	if whole, _, err := e.program.ContextEval(ctx, interpreter.NewHierarchicalActivation(variables, values)); err == nil { // otherwise, the error is the value of a part
		result.Result = whole
	}
	for i := range e.Conditions {
		for _, value := range values.of[i] {
			switch value {
			case types.True:
				result.Conditions[i].True++
			case types.False:
				result.Conditions[i].False++
			}
		}
	}
	for i, part := range e.parts {
		of := values.of[len(e.Conditions)+i]
		switch {
		case len(of) == 0:
		case part.repeated:
			result.Parts = append(result.Parts, Value{part.text, types.DefaultTypeAdapter.NativeToValue(of)})
		default:
			result.Parts = append(result.Parts, Value{part.text, of[0]})
		}
	}
	return result
}
