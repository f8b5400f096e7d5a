package miniapitest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest"
)

// notingTest is a testing.TB that notes what is logged.
type notingTest struct {
	testing.TB
	mu     sync.Mutex
	logged []string
}

func (n *notingTest) Logf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logged = append(n.logged, fmt.Sprintf(format, args...))
}

// The test's log has the warnings that "miniapi serve" would print, whether the test fails or not.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		options      []miniapitest.Option
		want         []string
	}{
		{name: "none", reason: "the options do what they ask for"},
		{
			name: "a plugin that miniapi lacks", reason: "the test may depend on it",
			options: []miniapitest.Option{miniapitest.WithAdmissionPlugins("JobValidation")},
			want:    []string{"miniapitest: warning: admission plugin JobValidation is not part of miniapi, so it does not run"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			noting := &notingTest{TB: t}
			miniapitest.Start(noting, test.options...)
			if !slices.Equal(noting.logged, test.want) {
				t.Errorf("the log of the test is %q, want %q: %s", noting.logged, test.want, test.reason)
			}
		})
	}
}
