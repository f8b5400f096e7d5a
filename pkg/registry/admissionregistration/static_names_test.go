package admissionregistration

import (
	"strings"
	"testing"
)

// That creation is refused where there are static manifests is tested with the server.
func TestStaticNameWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason       string
		created, manifests bool
		want               string
	}{
		{name: "mine.example.com", reason: "nobody else claims it"},
		{name: "static.k8s.io", reason: "it has no name before the suffix"},
		{name: "mine.static.k8s.io", reason: "it is refused", created: true, manifests: true},
		{name: "mine.static.k8s.io", reason: "it is from before", manifests: true, want: `names ending with ".static.k8s.io" are reserved`},
		{name: "mine.static.k8s.io", reason: "it will be refused", created: true, want: `names ending with ".static.k8s.io" will be reserved`},
		{name: "mine.static.k8s.io", reason: "it would be refused", want: `names ending with ".static.k8s.io" will be reserved`},
	} {
		got := staticNameWarnings(test.name, test.created, test.manifests)
		if len(got) > 1 || !strings.Contains(strings.Join(got, ""), test.want) || (len(got) == 0) != (test.want == "") {
			t.Errorf("%s: %s: want %q, got %q", test.name, test.reason, test.want, got)
		}
	}
}
