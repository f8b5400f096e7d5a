// Package extension is the suite of cases that check runtime extensions: whether an extension follows the protocol of
// hooks, and the guidelines of Cluster API's proposal. The cases are the checks of pkg/runtimehooks/checker.
//
// The cases call the handlers of the extension, so don't run the suite for an extension that changes a production
// cluster.
package extension

import (
	"context"
	"errors"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/checker"
)

// Cases returns the cases for an extension. Each case discovers the handlers of the extension by itself.
func Cases(target checker.Target) []conformance.Case {
	var cases []conformance.Case
	for _, check := range checker.Checks() {
		cases = append(cases, conformance.Case{
			ID: "extension." + check.ID, Promise: check.Promise, Source: check.Source,
			Run: func(ctx context.Context, t *conformance.T) {
				err := check.Run(ctx, target)
				switch {
				case errors.Is(err, checker.ErrNotDiscovered):
					t.Skip(err.Error())
				case err != nil:
					t.Fatal(conformance.Finding{Expected: check.Promise, Seen: err.Error(), Advice: check.Reason})
				}
			},
		})
	}
	return cases
}

// Run runs the suite for an extension.
func Run(ctx context.Context, target checker.Target, options conformance.Options) (conformance.Results, error) {
	return conformance.Run(ctx, Cases(target), options)
}
