// Package webhook makes the suite of admission webhooks (pkg/miniapitest/conformance/webhook) available to package
// conformance, so that the suite has the selection, parallelism, progress and reports of that package.
//
// Don't use it in Go tests: call conformance.Webhook of pkg/miniapitest/conformance.
package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/conformance"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/conformance/webhook"
)

// defaultCost is the approximate duration of a case with a few calls.
const defaultCost = 50 * time.Millisecond

// Cases returns the cases for a suite. If the suite is nil, the cases can be listed, but not run.
func Cases(suite *webhook.Suite) []conformance.Case {
	var cases []conformance.Case
	for _, c := range webhook.Cases() {
		cost := c.Cost
		if cost == 0 {
			cost = defaultCost
		}
		cases = append(cases, conformance.Case{
			ID: c.ID, Promise: c.Promise, Source: c.Source, Level: conformance.Level(c.Level), Cost: cost, Timeout: 10 * time.Minute,
			Run: func(ctx context.Context, t *conformance.T) { run(ctx, t, &c, suite) },
		})
	}
	return cases
}

// run runs a case of the suite, and reports its findings.
func run(ctx context.Context, t *conformance.T, c *webhook.Case, suite *webhook.Suite) {
	findings, err := c.Run(ctx, suite)
	for _, f := range findings {
		t.Report(conformance.Finding{Level: conformance.Level(f.Level), Sent: f.Sent, Seen: f.Seen, Advice: f.Advice})
	}
	var skipped webhook.Skipped
	if errors.As(err, &skipped) {
		t.Skip(string(skipped))
	}
	if err != nil {
		t.Fatal(conformance.Finding{Expected: "the case can be tried", Seen: err.Error()})
	}
}
