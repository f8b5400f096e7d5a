package mutation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each operator and each constant is changed, one at a time, and the rest of the expression stays.
func TestChangesOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, expression string
		want                     []string
	}{
		{"comparison", "the boundary, the opposite and the constant", "object.a <= 5",
			[]string{"object.a < 5", "object.a > 5", "object.a <= 6", "object.a <= 4"}},
		{"logic", "the operator, and each operand's", "has(object.a) && !object.b",
			[]string{"has(object.a) || !object.b", "true && !object.b", "false && !object.b", "has(object.a) && object.b"}},
		{"in", "the list loses each element", "object.a in ['x', 'y']", []string{
			`!(object.a in ["x", "y"])`, `object.a in ["y"]`, `object.a in ["x"]`, `object.a in ["x-other", "y"]`, `object.a in ["x", "y-other"]`}},
		{"conditional", "the branches are swapped", "object.a ? 1 : 2", []string{
			"object.a ? 2 : 1", "object.a ? 2 : 2", "object.a ? 0 : 2", "object.a ? 1 : 3", "object.a ? 1 : 1"}},
		{"numbers", "a sum becomes a difference", "object.a + 1 > object.b", []string{
			"object.a + 1 >= object.b", "object.a + 1 <= object.b", "object.a - 1 > object.b", "object.a + 2 > object.b", "object.a + 0 > object.b"}},
		{"texts", "a text has no difference, so an operand is left out", "object.a == '.' + object.b", []string{
			`object.a != "." + object.b`, `object.a == "."`, `object.a == object.b`, `object.a == ".-other" + object.b`}},
		{"macro", "the macro stays a call", "object.l.all(x, x.a == true)", []string{
			"object.l.exists(x, x.a == true)", "object.l.all(x, x.a != true)", "object.l.all(x, x.a == false)"}},
		{"equal changes", "the same expression is one change", "object.a == object.a", []string{"object.a != object.a"}},
		{"patch", "the fields of a struct are changed", "Object{spec: Object.spec{a: 1}}", []string{"Object{spec: Object.spec{a: 2}}", "Object{spec: Object.spec{a: 0}}"}},
		{"optional", "optional fields keep their syntax", "object.?a.orValue('') != 'b'", []string{
			`object.?a.orValue("") == "b"`, `object.?a.orValue("-other") != "b"`, `object.?a.orValue("") != "b-other"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			changes, err := changesOf(test.expression)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range changes {
				got = append(got, c.expression)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
