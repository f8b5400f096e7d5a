package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// webhookCost is the approximate duration of a case with a few calls of a webhook.
const webhookCost = 50 * time.Millisecond

// WebhookCases returns the cases of pkg/miniapitest/webhooktest/webhooksuite for a suite. If the suite is nil, the cases can
// be listed, but not run. In Go tests, call webhooktest.Handler of pkg/miniapitest/webhooktest instead.
func WebhookCases(suite *webhooksuite.Suite) []Case {
	var cases []Case
	for _, c := range webhooksuite.Cases() {
		cost := c.Cost
		if cost == 0 {
			cost = webhookCost
		}
		cases = append(cases, Case{
			ID: c.ID, Promise: c.Promise, Source: c.Source, Level: c.Level, Cost: cost, Timeout: 10 * time.Minute,
			Run: func(ctx context.Context, t *T) {
				findings, err := c.Run(ctx, suite)
				for _, f := range findings {
					t.Report(f)
				}
				var skipped webhooksuite.Skipped
				if errors.As(err, &skipped) {
					t.Skip(string(skipped))
				}
				if err != nil {
					t.Fatal(Finding{Expected: "the case can be tried", Seen: err.Error()})
				}
			},
		})
	}
	return cases
}
