package conformance

import (
	"context"
	"time"
)

// Case is a promise and how to try it.
type Case struct {
	// ID is stable: reports, --only and --skip name a case by it. Its parts have dots between them, from the subject to
	// the detail, such as admission.delete.oldObject.
	ID string
	// Promise is the sentence that must be true, and Source the document and section that it comes from.
	Promise, Source string
	// Level is that of most of its findings, for the list of cases. The zero value stands for LevelError.
	Level Level
	// Cost is about how long the case takes, for the estimate of a run. The default is DefaultCost.
	Cost time.Duration
	// Timeout ends the context of the case. The default is DefaultTimeout.
	Timeout time.Duration
	// Run tries the promise. It reports through the T, and runs in a goroutine of its own, which the T may end.
	Run func(ctx context.Context, t *T)
}

// Defaults of a Case.
const (
	DefaultCost    = 300 * time.Millisecond
	DefaultTimeout = time.Minute
)

func (c *Case) cost() time.Duration {
	if c.Cost > 0 {
		return c.Cost
	}
	return DefaultCost
}

func (c *Case) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return DefaultTimeout
}
