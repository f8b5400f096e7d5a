// Package conformancetest runs suites of the package conformance in a Go test, a subtest for each case.
//
// Programs use the suites themselves: this package imports testing.
package conformancetest

import (
	"fmt"
	"testing"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver"
	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// APIServer judges an API server.
func APIServer(t *testing.T, target trial.Options, options conformance.Options) {
	t.Helper()
	results, err := apiserver.Run(t.Context(), target, options)
	Results(t, results)
	if err != nil {
		t.Error(fmt.Errorf("the suite of API servers: %w", err))
	}
}

// Results shows results as those of subtests.
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
