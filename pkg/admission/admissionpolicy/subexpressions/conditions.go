package subexpressions

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// Condition is a part of an expression whose truth decides which other parts are evaluated, or what the whole is: an operand
// of && or ||, the condition of ?:, the predicate of a macro such as all, or has(). Operators within such a part are
// conditions of their own instead: !(a && b) has the conditions a and b.
type Condition struct {
	Expression string
	// Offset is the offset of the condition in the expression, in characters. For a call, it is that of the parenthesis.
	Offset int
	// Whole is true if the condition, or its negation, is the whole expression: has() alone is such a condition.
	Whole bool

	node int64
}

// conditionsOf returns the conditions of an expression.
func conditionsOf(parsed *ast.AST) []Condition {
	c := &conditions{info: parsed.SourceInfo(), whole: parsed.Expr()}
	for c.whole.Kind() == ast.CallKind && c.whole.AsCall().FunctionName() == operators.LogicalNot {
		c.whole = c.whole.AsCall().Args()[0]
	}
	c.visit(parsed.Expr(), false)
	slices.SortStableFunc(c.all, func(a, b Condition) int { return a.Offset - b.Offset })
	return c.all
}

type conditions struct {
	info  *ast.SourceInfo
	whole ast.Expr
	all   []Condition
}

// visit adds the conditions within an expression. The argument decides is true if the expression is one itself.
func (c *conditions) visit(e ast.Expr, decides bool) {
	switch e.Kind() {
	case ast.CallKind:
		switch call := e.AsCall(); call.FunctionName() {
		case operators.LogicalAnd, operators.LogicalOr:
			c.each(call.Args(), true)
			return
		case operators.LogicalNot:
			c.each(call.Args(), decides)
			return
		case operators.Conditional:
			c.each(call.Args()[:1], true)
			c.each(call.Args()[1:], decides)
			return
		}
	case ast.IdentKind:
		if name := e.AsIdent(); name == parser.AccumulatorName || name == parser.HiddenAccumulatorName {
			return // the result of a macro so far
		}
	}
	if (decides || e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly()) && e.Kind() != ast.LiteralKind {
		c.add(e)
	}
	c.within(e)
}

func (c *conditions) each(all []ast.Expr, decides bool) {
	for _, e := range all {
		c.visit(e, decides)
	}
}

// within visits the parts of an expression.
func (c *conditions) within(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind:
		if e.AsCall().IsMemberFunction() {
			c.visit(e.AsCall().Target(), false)
		}
		c.each(e.AsCall().Args(), false)
	case ast.SelectKind:
		c.visit(e.AsSelect().Operand(), false)
	case ast.ListKind:
		c.each(e.AsList().Elements(), false)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			c.each([]ast.Expr{entry.AsMapEntry().Key(), entry.AsMapEntry().Value()}, false)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			c.visit(field.AsStructField().Value(), false)
		}
	case ast.ComprehensionKind:
		// The loop's condition only repeats what the step has found.
		loop := e.AsComprehension()
		c.each([]ast.Expr{loop.IterRange(), loop.AccuInit(), loop.LoopStep(), loop.Result()}, false)
	}
}

func (c *conditions) add(e ast.Expr) {
	text, err := parser.Unparse(e, c.info)
	if err != nil {
		return // the parser has made a node without a text
	}
	c.all = append(c.all, Condition{text, c.start(e), e.ID() == c.whole.ID(), e.ID()})
}

// start returns the least offset of an expression and its parts, because the offset of an operator isn't that of its
// operands.
func (c *conditions) start(e ast.Expr) int {
	least := -1
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(part ast.Expr) {
		if at, known := c.info.GetOffsetRange(part.ID()); known && (least < 0 || int(at.Start) < least) {
			least = int(at.Start)
		}
	}))
	return max(least, 0)
}
