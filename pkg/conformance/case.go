package conformance

import (
	"context"
	"time"
)

// Case is a promise and a function that checks it.
type Case struct {
	// ID identifies the case in reports and in the flags --only and --skip, and never changes. Dots separate its parts,
	// from the subject to the detail, such as admission.delete.oldObject.
	ID string
	// Promise is a sentence that must be true. Source is the document and the section that the promise comes from.
	Promise, Source string
	// Level is the usual level of the case's findings, for lists of cases. The zero value stands for LevelError.
	Level Level
	// Cost is the approximate duration of the case, for the estimate of the remaining time. The default is DefaultCost.
	Cost time.Duration
	// Timeout is the time after which the context of the case ends. The default is DefaultTimeout.
	Timeout time.Duration
	// Run checks the promise, and reports findings by t. It runs in a goroutine of its own, because methods of t may
	// end the goroutine.
	Run func(ctx context.Context, t *T)
}

// The defaults of a Case.
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
