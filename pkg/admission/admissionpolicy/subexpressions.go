package admissionpolicy

import (
	"context"
	"slices"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// maxSubexpressions bounds the sub-expressions of one expression whose values are recorded.
const maxSubexpressions = 16

// subexpressions evaluates the parts of expressions that decided against a recorded request, so that the record shows
// which part is the reason. The parts are compiled when the first such request is recorded.
type subexpressions struct {
	compiler     *cel.CompositedCompiler
	declarations cel.OptionalVariableDeclarations
	expressions  []cel.ExpressionAccessor

	once  sync.Once
	parts []cel.ConditionEvaluator // by the index of the expression; nil for one without parts
}

// subexpression is a part of an expression as an expression of its own.
type subexpression string

// GetExpression implements cel.ExpressionAccessor.
func (s subexpression) GetExpression() string { return string(s) }

// ReturnTypes implements cel.ExpressionAccessor.
func (s subexpression) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType} }

// evaluate returns the values of the parts of the expression with an index.
func (s *subexpressions) evaluate(ctx context.Context, index int, attributes *admission.VersionedAttributes, request *admissionv1.AdmissionRequest, bindings cel.OptionalVariableBindings, namespace *corev1.Namespace) []cel.EvaluationResult {
	s.once.Do(s.compile)
	if index >= len(s.parts) || s.parts[index] == nil {
		return nil
	}
	// The budget is that of the expressions themselves. Its end only ends the list of values.
	results, _, _ := s.parts[index].ForInput(ctx, attributes, request, bindings, namespace, apiservercel.RuntimeCELCostBudget)
	return results
}

func (s *subexpressions) compile() {
	env, err := s.compiler.Env(environment.StoredExpressions)
	if err == nil {
		env, err = env.Extend(celgo.EnableMacroCallTracking())
	}
	if err != nil {
		return // the record lacks the parts
	}
	s.parts = make([]cel.ConditionEvaluator, len(s.expressions))
	for i, expression := range s.expressions {
		if expression == nil {
			continue
		}
		parsed, issues := env.Parse(expression.GetExpression())
		if issues != nil && issues.Err() != nil {
			continue
		}
		var parts []cel.ExpressionAccessor
		for _, text := range partsOf(parsed.NativeRep()) {
			// A part may not be an expression of its own, for example because it is of a type that only the whole gives it.
			part := subexpression(text)
			if len(parts) < maxSubexpressions && s.compiler.CompileCELExpression(part, s.declarations, environment.StoredExpressions).Error == nil {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			s.parts[i] = s.compiler.CompileCondition(parts, s.declarations, environment.StoredExpressions)
		}
	}
}

// partsOf returns the parts of an expression, in the order of the text: the calls, the operands, and the fields of objects.
// Literals and names alone say nothing.
func partsOf(parsed *ast.AST) []string {
	p := &parts{info: parsed.SourceInfo()}
	p.within(parsed.Expr())
	return p.texts
}

type parts struct {
	info  *ast.SourceInfo
	texts []string
}

// add adds an expression as a part, and then its own parts.
func (p *parts) add(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind, ast.SelectKind, ast.ComprehensionKind:
		p.text(e)
	}
	p.within(e)
}

func (p *parts) text(e ast.Expr) {
	if text, err := parser.Unparse(e, p.info); err == nil && !slices.Contains(p.texts, text) {
		p.texts = append(p.texts, text)
	}
}

// within adds the parts of an expression, but not the expression itself.
func (p *parts) within(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			p.add(call.Target())
		}
		for _, argument := range call.Args() {
			p.add(argument)
		}
	case ast.SelectKind:
		base := e.AsSelect().Operand()
		for base.Kind() == ast.SelectKind { // object.spec.replicas says more than object.spec
			base = base.AsSelect().Operand()
		}
		p.add(base)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			p.add(element)
		}
	case ast.ComprehensionKind:
		p.comprehension(e)
	}
}

// comprehension adds the list of a macro such as all, and the value of its predicate for each element.
func (p *parts) comprehension(e ast.Expr) {
	macro, found := p.info.GetMacroCall(e.ID())
	if !found || macro.Kind() != ast.CallKind || !macro.AsCall().IsMemberFunction() {
		return
	}
	call := macro.AsCall()
	p.add(call.Target())
	args := call.Args()
	name := call.FunctionName()
	if len(args) != 2 || !slices.Contains([]string{operators.All, operators.Exists, operators.ExistsOne, operators.Filter}, name) {
		return
	}
	list, err := parser.Unparse(call.Target(), p.info)
	if err != nil {
		return
	}
	predicate, err := parser.Unparse(args[1], p.info)
	if err != nil || args[0].Kind() != ast.IdentKind {
		return
	}
	p.texts = append(p.texts, list+".map("+args[0].AsIdent()+", "+predicate+")")
}

// decides tells whether the value of a condition is against the request: the expression is false, or has failed.
func decides(result cel.EvaluationResult) bool {
	return result.ExpressionAccessor != nil && (result.Error != nil || result.EvalResult == types.False)
}
