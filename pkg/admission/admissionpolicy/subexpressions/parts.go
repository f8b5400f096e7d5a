package subexpressions

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
)

// maxParts bounds the parts of one expression whose values are recorded.
const maxParts = 16

// part is a part of an expression whose value explains the value of the whole.
type part struct {
	text string
	node int64
	// repeated is true for the predicate of a macro, which has a value for each element.
	repeated bool
}

// partsOf returns the parts of an expression, in the order of the text: the calls, the operands, and the fields of objects.
// Literals and names alone say nothing.
func partsOf(parsed *ast.AST) []part {
	p := &parts{info: parsed.SourceInfo()}
	p.within(parsed.Expr())
	return p.all[:min(len(p.all), maxParts)]
}

type parts struct {
	info *ast.SourceInfo
	all  []part
}

// add adds an expression as a part, and then its own parts.
func (p *parts) add(e ast.Expr) {
	switch e.Kind() {
	case ast.CallKind, ast.SelectKind, ast.ComprehensionKind:
		if text, err := parser.Unparse(e, p.info); err == nil {
			p.append(part{text: text, node: e.ID()})
		}
	}
	p.within(e)
}

// append adds a part, unless the same text is a part already: it has the same value.
func (p *parts) append(one part) {
	if !slices.ContainsFunc(p.all, func(other part) bool { return other.text == one.text }) {
		p.all = append(p.all, one)
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
	list, call := e.AsComprehension().IterRange(), macro.AsCall()
	p.add(list)
	if !slices.Contains([]string{operators.All, operators.Exists, operators.ExistsOne, operators.Filter}, call.FunctionName()) || len(call.Args()) != 2 {
		return
	}
	variable, predicate := call.Args()[0], call.Args()[1]
	of, err := parser.Unparse(list, p.info)
	if err != nil || variable.Kind() != ast.IdentKind {
		return
	}
	if text, err := parser.Unparse(predicate, p.info); err == nil {
		p.append(part{of + ".map(" + variable.AsIdent() + ", " + text + ")", predicate.ID(), true})
	}
}
