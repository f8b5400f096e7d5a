package conformance

import (
	"context"
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/checker"
)

// ExtensionCases returns the checks of pkg/runtimehooks/checker as cases for a runtime extension. Each case discovers
// the handlers of the extension by itself, and calls them, so don't run the cases for an extension that changes a
// production cluster.
func ExtensionCases(target checker.Target) []Case {
	var cases []Case
	for _, check := range checker.Checks() {
		cases = append(cases, Case{
			ID: "extension." + check.ID, Promise: check.Promise, Source: check.Source,
			Run: func(ctx context.Context, t *T) {
				err := check.Run(ctx, target)
				switch {
				case errors.Is(err, checker.ErrNotDiscovered):
					t.Skip(err.Error())
				case err != nil:
					t.Fatal(Finding{Expected: check.Promise, Seen: err.Error(), Advice: check.Reason})
				}
			},
		})
	}
	return cases
}
