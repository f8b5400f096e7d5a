package subexpressions

import (
	"slices"
	"testing"
)

// The parts of an expression are in the order of the text, and a macro has the values of its predicate.
func TestPartsOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, expression string
		want                     []string
	}{
		{"comparison", "the operands have values, and a literal says nothing", "object.spec.replicas <= 5", []string{"object.spec.replicas"}},
		{"logic", "each operand decides", "has(object.a) && !(object.b == 'x' || object.c)",
			[]string{"has(object.a)", `!(object.b == "x" || object.c)`, `object.b == "x" || object.c`, `object.b == "x"`, "object.b", "object.c"}},
		{"conditional", "the condition and both values", "has(object.a) ? object.a : 5", []string{"has(object.a)", "object.a"}},
		{"member function", "the target and the arguments", "object.name.startsWith(variables.prefix)", []string{"object.name", "variables.prefix"}},
		{"macro", "the predicate has a value for each element", "object.list.all(x, x.a > 1)", []string{"object.list", "object.list.map(x, x.a > 1)"}},
		{"macro in a call", "the list of the macro has parts, too", "object.list.filter(x, x > 1).size() == 0",
			[]string{"object.list.filter(x, x > 1).size()", "object.list.filter(x, x > 1)", "object.list", "object.list.map(x, x > 1)"}},
		{"list", "the elements of a literal", "object.a in [object.b, 'x']", []string{"object.a", "object.b"}},
		{"once", "a part that appears twice has one value", "object.a + object.a == 2", []string{"object.a + object.a", "object.a"}},
		{"nothing", "a literal has no parts", "true", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			expression, err := Parse(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, part := range expression.parts {
				got = append(got, part.text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, got)
			}
		})
	}
}
