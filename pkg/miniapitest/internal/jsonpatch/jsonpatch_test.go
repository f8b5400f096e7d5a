package jsonpatch

import (
	"strings"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/internal/tree"
)

// TestEqualityOfTheOperationTest compares a value of an object with the value in an operation "test", by the rules of
// RFC 6902, section 4.6.
func TestEqualityOfTheOperationTest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, value, tested string
		equal                       bool
	}{
		{"number", "the texts differ, and the values don't", `1`, `1.0`, true},
		{"exponent", "an exponent is another way to write the number", `1200`, `1.2e3`, true},
		{"number in an array", "the elements of an array are compared like other values", `[1,[2]]`, `[1.0,[2e0]]`, true},
		{"number in an object", "the members of an object are compared like other values", `{"a":{"b":1}}`, `{"a":{"b":1.0}}`, true},
		{"large numbers", "both numbers are the same float64", `9007199254740993`, `9007199254740992`, false},
		{"large numbers in an object", "both numbers are the same float64", `{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{"huge exponents", "a number with as many digits wouldn't fit into memory", `1e999999999`, `1e999999999`, true},
		{"other numbers", "the values differ", `[1]`, `[1.5]`, false},
		{"number and text", "a text isn't a number", `1`, `"1"`, false},
		{"order of members", "an object has no order", `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"order of elements", "an array has an order", `[1,2]`, `[2,1]`, false},
		{"fewer members", "the tested value lacks a member", `{"a":1,"b":null}`, `{"a":1}`, false},
		{"another member", "null is a value, and the tested value has no b", `{"a":1,"b":null}`, `{"a":1,"c":null}`, false},
		{"more elements", "the tested value has a further element", `[1]`, `[1,2]`, false},
		{"object and array", "the types differ", `{}`, `[]`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			object, err := tree.Decode([]byte(`{"v":` + test.value + `}`))
			if err != nil {
				t.Fatal(err)
			}
			patch, err := tree.Decode([]byte(`[{"op":"test","path":"/v","value":` + test.tested + `}]`))
			if err != nil {
				t.Fatal(err)
			}
			switch _, err := Apply(object, patch); {
			case test.equal && err != nil:
				t.Errorf("%v (%s)", err, test.reason)
			case !test.equal && (err == nil || !strings.Contains(err.Error(), "the value must be")):
				t.Errorf("%s is equal to %s, error %v (%s)", test.value, test.tested, err, test.reason)
			}
		})
	}
}
