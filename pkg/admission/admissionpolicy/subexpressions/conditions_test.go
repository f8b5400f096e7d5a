package subexpressions

import (
	"slices"
	"testing"

	"github.com/google/cel-go/interpreter"
)

// The conditions of an expression are those that decide what else is evaluated, and each evaluation counts.
func TestConditions(t *testing.T) {
	t.Parallel()
	object := map[string]any{"a": int64(1), "yes": true, "list": []any{int64(1), int64(2), int64(3)}, "empty": []any{}}
	type counted struct {
		text   string
		offset int
		Outcome
	}
	for _, test := range []struct {
		name, reason, expression string
		want                     []counted
	}{
		{"comparison", "the whole has no part that decides", "object.a < 5", nil},
		{"and", "both operands are evaluated", "object.a < 5 && object.a > 0",
			[]counted{{"object.a < 5", 0, Outcome{1, 0}}, {"object.a > 0", 16, Outcome{1, 0}}}},
		{"short circuit", "the second operand isn't evaluated", "object.a > 5 && object.a > 0",
			[]counted{{"object.a > 5", 0, Outcome{0, 1}}, {"object.a > 0", 16, Outcome{}}}},
		{"short circuit of or", "the second operand isn't evaluated", "object.yes || object.a > 0",
			[]counted{{"object.yes", 0, Outcome{1, 0}}, {"object.a > 0", 14, Outcome{}}}},
		{"nested", "operators within operands are no conditions of their own", "!(object.a > 5 || !object.yes) && has(object.b)",
			[]counted{{"object.a > 5", 2, Outcome{0, 1}}, {"object.yes", 19, Outcome{1, 0}}, {"has(object.b)", 37, Outcome{0, 1}}}},
		{"conditional", "the values of ?: aren't conditions", "has(object.b) ? object.b : 5", []counted{{"has(object.b)", 3, Outcome{0, 1}}}},
		{"conditional as an operand", "its values decide", "object.yes && (object.yes ? object.a == 2 : false)",
			[]counted{{"object.yes", 0, Outcome{1, 0}}, {"object.yes", 15, Outcome{1, 0}}, {"object.a == 2", 28, Outcome{0, 1}}}},
		{"has anywhere", "the author has asked for both cases", "string(has(object.a))", []counted{{"has(object.a)", 10, Outcome{1, 0}}}},
		{"macro", "the predicate is evaluated until it decides", "object.list.all(x, x < 2)", []counted{{"x < 2", 19, Outcome{1, 1}}}},
		{"macro as an operand", "the macro and its predicate", "object.yes && object.list.exists(x, x == 3 || x == 4)", []counted{
			{"object.yes", 0, Outcome{1, 0}}, {"object.list.exists(x, x == 3 || x == 4)", 14, Outcome{1, 0}}, {"x == 3", 36, Outcome{1, 2}}, {"x == 4", 46, Outcome{0, 2}}}},
		{"other macros", "filter and exists_one look at all elements", "object.list.filter(x, x > 1).exists_one(x, x > 2)",
			[]counted{{"x > 1", 22, Outcome{2, 1}}, {"x > 2", 43, Outcome{1, 1}}}},
		{"map", "the values of a map aren't conditions", "object.list.map(x, x > 1).size() == 3", nil},
		{"empty list", "the predicate isn't evaluated", "object.empty.all(x, x > 1)", []counted{{"x > 1", 20, Outcome{}}}},
		{"error", "an operand that fails is neither true nor false", "object.none == 1 || object.yes",
			[]counted{{"object.none == 1", 0, Outcome{}}, {"object.yes", 20, Outcome{1, 0}}}},
		{"literal", "a literal has one value", "true || object.yes", []counted{{"object.yes", 8, Outcome{}}}},
		{"struct", "the fields of a patch have conditions", "Object{spec: Object.spec{b: has(object.a) ? 1 : 2}}", []counted{{"has(object.a)", 31, Outcome{1, 0}}}},
		{"characters", "offsets count characters, not bytes", "'ü' == 'ü' && object.yes", []counted{{`"ü" == "ü"`, 0, Outcome{1, 0}}, {"object.yes", 14, Outcome{1, 0}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			expression, err := Parse(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			variables, err := interpreter.NewActivation(map[string]any{"object": object})
			if err != nil {
				t.Fatal(err)
			}
			outcomes := expression.Evaluate(t.Context(), variables).Conditions
			var got []counted
			for i, c := range expression.Conditions {
				got = append(got, counted{c.Expression, c.Offset, outcomes[i]})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: want %v, got %v", test.reason, test.want, got)
			}
		})
	}
}

// The libraries of Kubernetes' expressions have the same values here as in a compiled expression.
func TestConditionsOfLibraries(t *testing.T) {
	t.Parallel()
	for _, condition := range []string{
		"quantity('2Gi').isGreaterThan(quantity('1Gi'))", "isIP('10.0.0.1')", "cidr('10.0.0.0/8').containsIP('10.0.0.1')", "url('https://a/b').getHost() == 'a'",
		"semver('1.2.3').major() == 1", "format.dns1123Label().validate('a') == optional.none()", "object.?none.orValue(5) == 5", "object[?'yes'].hasValue()",
		"sets.contains(object.list, [1])", "'a,b'.split(',').join('-') == 'a-b'", "'%s'.format(['a']) == 'a'", "object.list.isSorted() && object.list.sum() == 6",
		"'abc'.find('[b-z]+') == 'bc'", "string(object.a) == '1'", "type(object.a) == int", "timestamp('2020-01-01T00:00:00Z') < timestamp('2021-01-01T00:00:00Z')",
		"object.list.map(x, x * 2) == [2, 4, 6]", "{'a': 1}.all(k, k == 'a')", "object.list.indexOf(2) == 1", "jsonpatch.escapeKey('a/b') == 'a~1b'",
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			expression, err := Parse("object.yes && (" + condition + ")")
			if err != nil {
				t.Fatal(err)
			}
			variables, err := interpreter.NewActivation(map[string]any{"object": map[string]any{"a": int64(1), "yes": true, "list": []any{int64(1), int64(2), int64(3)}}})
			if err != nil {
				t.Fatal(err)
			}
			for i, outcome := range expression.Evaluate(t.Context(), variables).Conditions {
				if outcome != (Outcome{True: 1}) {
					t.Errorf("want %s to be true, got %v", expression.Conditions[i].Expression, outcome)
				}
			}
		})
	}
}
