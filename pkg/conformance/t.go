package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// cleanupTimeout bounds the removal of the objects of a case. An interrupted run removes them, too.
const cleanupTimeout = 2 * time.Minute

// T is the handle of a running case, as *testing.T is that of a test. Its methods may be called concurrently; those that
// end the case must be called by the goroutine of Run.
type T struct {
	ctx context.Context

	mu       sync.Mutex
	findings []Finding
	skipped  string
	cleanups []func(context.Context) error
}

// Context ends with the case: at its timeout, or when the run is interrupted.
func (t *T) Context() context.Context { return t.ctx }

// Report adds a finding. The case goes on.
func (t *T) Report(f Finding) {
	if f.Level == "" {
		f.Level = LevelError
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.findings = append(t.findings, f)
}

// Fatal adds a finding and ends the case.
func (t *T) Fatal(f Finding) {
	t.Report(f)
	runtime.Goexit()
}

// Skip ends the case, which couldn't be tried for a reason.
func (t *T) Skip(reason string) {
	t.mu.Lock()
	t.skipped = reason
	t.mu.Unlock()
	runtime.Goexit()
}

// Cleanup calls a function when the case has ended, in whatever way. The last function added is called first, with a
// context that outlives an interrupted run.
func (t *T) Cleanup(f func(context.Context) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// run runs a case and what cleans up after it.
func run(ctx context.Context, c *Case) Result {
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout(), fmt.Errorf("the case has taken %v", c.timeout()))
	defer cancel()
	t := &T{ctx: limited}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(limited, t)
	}()
	<-done // every call in a case has its context, so a case ends with it
	interrupted := ctx.Err() != nil
	t.clean(context.WithoutCancel(ctx))
	result := Result{ID: c.ID, Promise: c.Promise, Source: c.Source, Findings: t.findings, Status: Passed, Took: time.Since(began)}
	switch {
	case interrupted:
		// Findings of a case that couldn't end say nothing of the target.
		result.Status, result.Reason, result.Findings = Skipped, "the run was interrupted", nil
	case t.failed():
		result.Status = Failed
	case t.skipped != "":
		result.Status, result.Reason = Skipped, t.skipped
	}
	return result
}

func (t *T) failed() bool {
	for _, f := range t.findings {
		if f.Level == LevelError {
			return true
		}
	}
	return false
}

// clean calls the cleanups, last first.
func (t *T) clean(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	var errs []error
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		errs = append(errs, t.cleanups[i](ctx))
	}
	if err := errors.Join(errs...); err != nil {
		t.Report(Finding{Expected: "everything that the case made can be removed", Seen: err.Error()})
	}
}
