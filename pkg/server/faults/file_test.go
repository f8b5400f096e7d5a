package faults

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason, file string
		want               []Fault
		wantErr            string
	}{
		{name: "faults", reason: "a plain number is fine for requests",
			file: "faults:\n- name: third\n  verbs: [update]\n  requests: 3\n  conflict: true\n- {status: 503, retryAfter: 2s, share: 0.5}\n",
			want: []Fault{{Name: "third", Verbs: []string{"update"}, Requests: "3", Conflict: true}, {Status: 503, RetryAfter: "2s", Share: 0.5}}},
		{name: "empty", reason: "a file may have no faults at the moment", file: ""},
		{name: "unknown key", reason: "a misspelled key must not be ignored",
			file: "faults: [{verb: [get], status: 500}]", wantErr: `fault number 1: unknown field "verb"`},
		{name: "key twice", reason: "a second value of the same key would be ignored",
			file: "faults:\n- status: 500\n  status: 501\n", wantErr: `key "status" already set`},
		{name: "invalid", reason: "the error names the fault", file: "faults: [{status: 500}, {name: b, status: 1}]",
			wantErr: "fault b: status 1: must be"},
		{name: "invalid without a name", reason: "the error counts the fault",
			file: "faults: [{status: 500}, {status: 1}]", wantErr: "fault number 2: status 1: must be"},
		{name: "share in per cent", reason: "the flag --fault also allows a share in per cent",
			file: "faults: [{status: 500, share: 10%}]", want: []Fault{{Status: 500, Share: 0.1}}},
		{name: "share of no request", reason: "a share of 0 is a mistake, and differs from a missing share",
			file: "faults: [{status: 500, share: 0}]", wantErr: `share "0": must be more than 0 and at most 1`},
		{name: "negative number", reason: "the error names the fault and the key",
			file:    "faults: [{status: 500}, {status: 500, requests: -3}]",
			wantErr: `fault number 2: requests "-3": must have numbers from 1`},
		{name: "list of numbers", reason: "numbers are one text",
			file:    "faults: [{name: b, status: 500, requests: [1, 3]}]",
			wantErr: "fault b: requests [1,3]: must be a number, or text such as 2-5, 4- or 1,3"},
		{name: "text in place of a list", reason: "the error names the fault and the key",
			file:    "faults: [{status: 500, verbs: get}]",
			wantErr: "fault number 1: verbs: must be a list, as in [a, b], got a string"},
		{name: "text in place of a number", reason: "the error names the fault and the key",
			file:    `faults: [{name: b, status: "503"}]`,
			wantErr: "fault b: status: must be a whole number, got a string"},
		{name: "text in place of true", reason: "the error names the fault and the key",
			file:    `faults: [{conflict: "true"}]`,
			wantErr: "fault number 1: conflict: must be true or false, got a string"},
		{name: "no list of faults", reason: "the error names the key", file: "faults: 3",
			wantErr: "faults: must be a list, as in [a, b], got a number"},
		{name: "no map", reason: "the key faults is missing", file: "x", wantErr: "must be a map of keys, got a string"},
		{name: "name twice", reason: "a name stands for one fault",
			file:    "faults: [{name: a, status: 500}, {name: a, status: 501}]",
			wantErr: "fault a: an earlier fault has the same name"},
		{name: "no names", reason: "faults get names by their numbers", file: "faults: [{status: 500}, {status: 501}]",
			want: []Fault{{Status: 500}, {Status: 501}}},
		{name: "two documents", reason: "the faults of the second document would be ignored",
			file:    "faults: [{status: 500}]\n---\nfaults: [{status: 501}]\n",
			wantErr: "must be one YAML document, with all faults under the key faults, got 2 documents"},
		{name: "number of writes", reason: "a key whose value is text takes a plain number",
			file: "faults: [{stale: -3}]", want: []Fault{{Stale: "-3"}}},
		{name: "number of no request", reason: "numbers begin with 1", file: "faults: [{status: 500, requests: 0}]",
			wantErr: `requests "0": must have numbers from 1`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse([]byte(test.file))
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Errorf("%s: want an error with %q, got %v", test.reason, test.wantErr, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", test.reason, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}
