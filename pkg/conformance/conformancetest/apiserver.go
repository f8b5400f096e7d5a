// Package conformancetest runs the suites of package conformance in a Go test, with a subtest for each case.
//
// Don't use it in programs, because it imports package testing: programs call the suites directly.
package conformancetest

import (
	"fmt"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// APIServer runs the suite of API servers. Each case is a subtest.
func APIServer(t *testing.T, target trial.Options, options conformance.Options) {
	t.Helper()
	results, err := apiserver.Run(t.Context(), target, options)
	Results(t, results)
	if err != nil {
		t.Error(fmt.Errorf("running the conformance suite for API servers: %w", err))
	}
}

// Results reports each result as a subtest.
func Results(t *testing.T, results conformance.Results) {
	t.Helper()
	for i := range results {
		r := &results[i]
		t.Run(r.ID, func(t *testing.T) {
			if r.Status == conformance.Skipped {
				t.Skip(r.Reason)
			}
			for _, f := range r.Findings {
				message := fmt.Sprintf("%s (%s)\nsent: %s\nexpected: %s\nseen: %s", r.Promise, r.Source, f.Sent, f.Expected, f.Seen)
				if f.Level == conformance.LevelError {
					t.Error(message)
				} else {
					t.Log(string(f.Level), message)
				}
			}
		})
	}
}
