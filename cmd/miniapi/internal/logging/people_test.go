package logging

import (
	"bytes"
	"testing"
)

func TestPeople(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, reason, entry, want string }{
		{"sentence", "the day, the process and the source are no news at a terminal",
			"W1123 01:38:48.157006     324 authentication.go:10] unusual\n", "01:38:48 warning: unusual\n"},
		{"structured", "the message has no quotes, and the values stay",
			`E1123 01:38:48.157006     324 outcome.go:80] "a request is refused" err="say \"no\"" took="2ms"` + "\n",
			"01:38:48 error: a request is refused err=\"say \\\"no\\\"\" took=\"2ms\"\n"},
		{"several lines", "an error may have several lines",
			"E1123 01:38:48.157006     324 a.go:1] \"Unhandled Error\" err=<\n\tone\n\ttwo\n >\n",
			"01:38:48 error: Unhandled Error err=<\n\tone\n\ttwo\n >\n"},
		{"another text", "not all libraries use klog", "panic: no\n", "panic: no\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if n, err := (People{&out}).Write([]byte(test.entry)); n != len(test.entry) || err != nil {
				t.Errorf("want the whole entry to be taken, got %d, %v", n, err)
			}
			if out.String() != test.want {
				t.Errorf("%s: want %q, got %q", test.reason, test.want, out.String())
			}
		})
	}
}
