package faults

import (
	"errors"
	"strings"
	"testing"
)

// TestValidate checks that the errors of flags are known before the start of a server.
func TestValidate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		options      Options
		want         string
	}{
		{"none", "the flags are optional", Options{}, ""},
		{"without names", "faults get names by their numbers", Options{Faults: []string{"conflict", "conflict"}}, ""},
		{"same name", "a fault is removed by its name",
			Options{Faults: []string{"name=a,conflict", "name=a,status=500"}},
			"--fault: fault a: an earlier fault has the same name: give each fault a name of its own"},
		{"wrong fault", "the error names the flag and the fault", Options{Faults: []string{"status=1"}},
			`--fault "status=1": status 1: must be the code of an error, 400 to 599`},
		{"missing file", "the error names the flag and the file", Options{File: "/none.yaml"}, "--fault-file /none.yaml: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := errors.Join(test.options.Validate()...)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q: %s", err, test.want, test.reason)
			}
		})
	}
}
