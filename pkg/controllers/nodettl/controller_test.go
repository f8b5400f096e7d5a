package nodettl

import "testing"

// The time changes at other sizes when a cluster grows than when it shrinks.
func TestSecondsOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		nodes        int
		before, want string
	}{
		{"first", "the cluster is small", 1, "", "0"},
		{"large first", "the cluster is large at the start", 600, "", "30"},
		{"grows", "the step ends at 100 nodes", 101, "0", "15"},
		{"stays", "the step hasn't ended", 100, "0", "0"},
		{"shrinks a little", "the step begins at 90 nodes", 90, "15", "15"},
		{"shrinks", "the step has begun later", 89, "15", "0"},
		{"largest", "no step follows", 100000, "60", "300"},
	} {
		if got := secondsOf(test.nodes, test.before); got != test.want {
			t.Errorf("%s: want %s for %d nodes, got %s: %s", test.name, test.want, test.nodes, got, test.reason)
		}
	}
}
