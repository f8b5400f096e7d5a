package mutation

import (
	"fmt"
	"sync"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy/subexpressions"
)

// change is a change of one part of an expression.
type change struct {
	// expression is the whole expression with the change. before and after are the part, and offset is its place in the
	// original expression, in characters.
	expression, before, after string
	offset                    int
	means                     string
}

// plain is the environment in which expressions are parsed without expanding macros, so that has() and all() stay calls.
var plain = sync.OnceValues(func() (*celgo.Env, error) {
	env, err := subexpressions.Environment()
	if err != nil {
		return nil, err
	}
	return env.Extend(celgo.ClearMacros())
})

// swap is the replacement of an operator or a function by another with the same operands.
type swap struct{ to, means string }

const (
	boundary = "no case has equal sides"
	opposite = "no case depends on the comparison"
	both     = "no case makes one side alone true"
)

// swaps are the replacements of operators and functions.
var swaps = map[string][]swap{
	operators.Equals:        {{operators.NotEquals, opposite}},
	operators.NotEquals:     {{operators.Equals, opposite}},
	operators.Less:          {{operators.LessEquals, boundary}, {operators.GreaterEquals, opposite}},
	operators.LessEquals:    {{operators.Less, boundary}, {operators.Greater, opposite}},
	operators.Greater:       {{operators.GreaterEquals, boundary}, {operators.LessEquals, opposite}},
	operators.GreaterEquals: {{operators.Greater, boundary}, {operators.Less, opposite}},
	operators.LogicalAnd:    {{operators.LogicalOr, both}},
	operators.LogicalOr:     {{operators.LogicalAnd, both}},
	operators.Add:           {{operators.Subtract, "no case depends on the sum"}},
	operators.Subtract:      {{operators.Add, "no case depends on the difference"}},
	operators.Multiply:      {{operators.Divide, "no case depends on the product"}},
	operators.Divide:        {{operators.Multiply, "no case depends on the quotient"}},
	operators.Modulo:        {{operators.Multiply, "no case depends on the remainder"}},
	operators.All:           {{operators.Exists, "no case has a list of which only some elements fulfil the predicate"}},
	operators.Exists:        {{operators.All, "no case has a list of which only some elements fulfil the predicate"}},
	operators.ExistsOne:     {{operators.Exists, "no case has several elements that fulfil the predicate"}},
	"startsWith":            {{"endsWith", "no case has the text at one end alone"}, {"contains", "no case has the text elsewhere alone"}},
	"endsWith":              {{"startsWith", "no case has the text at one end alone"}, {"contains", "no case has the text elsewhere alone"}},
	"contains":              {{"startsWith", "no case has the text elsewhere than at the beginning"}},
}

// changesOf returns the changes of an expression, one at a time, in the order of the text.
func changesOf(expression string) ([]change, error) {
	env, err := plain()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	m := &mutator{factory: ast.NewExprFactory(), tree: parsed.NativeRep(), seen: map[string]bool{}, names: map[int64]bool{}}
	if m.original, err = parser.Unparse(m.tree.Expr(), m.tree.SourceInfo()); err != nil {
		return nil, fmt.Errorf("printing the expression: %w", err)
	}
	m.seen[m.original] = true
	ast.PreOrderVisit(ast.NavigateAST(m.tree), ast.NewExprVisitor(func(e ast.Expr) { m.nodes = append(m.nodes, e) }))
	for _, node := range m.nodes {
		m.mutate(node)
	}
	return m.changes, nil
}

type mutator struct {
	factory  ast.ExprFactory
	tree     *ast.AST
	original string
	nodes    []ast.Expr
	// seen has the whole expressions so far, because different changes may be equal.
	seen    map[string]bool
	changes []change
	// names are the ids of the literals that are names of fields.
	names map[int64]bool
}

// mutate adds the changes of a node.
func (m *mutator) mutate(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		m.call(e)
	case ast.LiteralKind:
		if !m.names[e.ID()] {
			m.literal(e)
		}
	case ast.ListKind:
		elements := e.AsList().Elements()
		for i := range elements {
			rest := append(append([]ast.Expr{}, elements[:i]...), elements[i+1:]...)
			m.replace(e, m.factory.NewList(0, rest, nil), "no case needs the element")
		}
	}
}

func (m *mutator) call(e ast.Expr) {
	call := e.AsCall()
	name, args := call.FunctionName(), call.Args()
	for _, s := range swaps[name] {
		switch {
		case name == operators.Add && (m.joins(args[0]) || m.joins(args[1])):
			continue // texts and lists have no difference
		case call.IsMemberFunction():
			m.replace(e, m.factory.NewMemberCall(0, s.to, call.Target(), args...), s.means)
		default:
			m.replace(e, m.factory.NewCall(0, s.to, args...), s.means)
		}
	}
	switch {
	case name == operators.OptSelect:
		m.names[args[1].ID()] = true
	case name == operators.Add && (m.joins(args[0]) || m.joins(args[1])):
		m.replace(e, args[0], "no case depends on what is added")
		m.replace(e, args[1], "no case depends on what is added to")
	case name == operators.LogicalNot:
		m.replace(e, args[0], "no case depends on the condition")
	case name == operators.Conditional:
		m.replace(e, m.factory.NewCall(0, name, args[0], args[2], args[1]), "no case depends on the condition")
	case name == operators.In:
		m.replace(e, m.factory.NewCall(0, operators.LogicalNot, m.factory.CopyExpr(e)), "no case depends on the element")
	case name == operators.Has && !call.IsMemberFunction():
		m.replace(e, m.factory.NewLiteral(0, types.True), "no case lacks the field")
		m.replace(e, m.factory.NewLiteral(0, types.False), "no case has the field")
	}
}

// joins tells whether an expression is a text or a list, or joins them, as far as it shows without types.
func (m *mutator) joins(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		_, isText := e.AsLiteral().(types.String)
		return isText
	case ast.ListKind:
		return true
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Add:
			return m.joins(call.Args()[0]) || m.joins(call.Args()[1])
		case operators.Conditional:
			return m.joins(call.Args()[1]) || m.joins(call.Args()[2])
		case "string", "join", operators.Map, operators.Filter:
			return true
		}
	}
	return false
}

func (m *mutator) literal(e ast.Expr) {
	const value = "no case depends on the value"
	switch literal := e.AsLiteral().(type) {
	case types.Int:
		m.replace(e, m.factory.NewLiteral(0, literal+1), value)
		m.replace(e, m.factory.NewLiteral(0, literal-1), value)
	case types.Uint:
		m.replace(e, m.factory.NewLiteral(0, literal+1), value)
	case types.Double:
		m.replace(e, m.factory.NewLiteral(0, literal+1), value)
		m.replace(e, m.factory.NewLiteral(0, literal-1), value)
	case types.Bool:
		m.replace(e, m.factory.NewLiteral(0, !literal), value)
	case types.String:
		m.replace(e, m.factory.NewLiteral(0, literal+other), value)
	}
}

// other is what a changed text has in addition.
const other = "-other"

// replace adds the change of a node to another one.
func (m *mutator) replace(e, by ast.Expr, means string) {
	info := m.tree.SourceInfo()
	kept := m.factory.NewUnspecifiedExpr(e.ID()) // shares the operands, which have changes of their own
	kept.SetKindCase(e)
	before, err := parser.Unparse(e, info)
	if err != nil {
		return // a node of a macro without a text
	}
	e.SetKindCase(m.factory.CopyExpr(by))
	after, failed := parser.Unparse(e, info)
	whole, err := parser.Unparse(m.tree.Expr(), info)
	e.SetKindCase(kept)
	if err != nil || failed != nil || m.seen[whole] {
		return
	}
	m.seen[whole] = true
	at, _ := info.GetOffsetRange(e.ID())
	m.changes = append(m.changes, change{whole, before, after, max(int(at.Start), 0), means})
}
