package admissionregistration

import (
	"strings"
	"testing"
)

// TestStaticNameWarnings checks the warnings about names with the reserved suffix. A test in test/integration
// checks that a server with static manifests refuses these names.
func TestStaticNameWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason       string
		created, manifests bool
		want               string
	}{
		{name: "mine.example.com", reason: "the suffix is missing"},
		{name: "static.k8s.io", reason: "nothing is before the suffix"},
		{name: "mine.static.k8s.io", reason: "the creation is refused anyway", created: true, manifests: true},
		{name: "mine.static.k8s.io", reason: "the object is older than the rule", manifests: true,
			want: `names ending with ".static.k8s.io" are reserved`},
		{name: "mine.static.k8s.io", reason: "a server with static manifests refuses the next creation", created: true,
			want: `names ending with ".static.k8s.io" are reserved`},
		{name: "mine.static.k8s.io", reason: "a server with static manifests would refuse the creation",
			want: `names ending with ".static.k8s.io" are reserved`},
	} {
		got := staticNameWarnings(test.name, test.created, test.manifests)
		if len(got) > 1 || !strings.Contains(strings.Join(got, ""), test.want) || (len(got) == 0) != (test.want == "") {
			t.Errorf("%s: %s: want %q, got %q", test.name, test.reason, test.want, got)
		}
	}
}
