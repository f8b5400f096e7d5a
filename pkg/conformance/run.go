package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultParallel is the default number of cases that run at the same time.
const DefaultParallel = 4

// Options are the options of a run.
type Options struct {
	Selection Selection
	// Parallel is the number of cases that run at the same time. 0 stands for DefaultParallel.
	Parallel int
	// Progress, if set, is called after each case that has run. Calls never overlap.
	Progress func(Progress)
}

// Validate returns all errors in the options.
func (o *Options) Validate() error {
	var errs []error
	if o.Parallel < 0 {
		errs = append(errs, fmt.Errorf("--parallel %d: must be at least 1, or 0 for the default of %d", o.Parallel, DefaultParallel))
	}
	return errors.Join(append(errs, o.Selection.validate())...)
}

// Run runs the selected cases, and returns a result for each, in the order of the cases. When ctx ends, running cases
// end after their cleanup, and the cases that haven't begun are skipped.
func Run(ctx context.Context, cases []Case, o Options) (Results, error) {
	if err := errors.Join(o.Validate(), unique(cases)); err != nil {
		return nil, err
	}
	if err := o.Selection.Check(cases); err != nil {
		return nil, err
	}
	selected := o.Selection.Of(cases)
	parallel := o.Parallel
	if parallel == 0 {
		parallel = DefaultParallel
	}
	results := make(Results, len(selected))
	meter := newMeter(selected, min(parallel, len(selected)), o.Progress)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(parallel, len(selected)) {
		workers.Go(func() {
			for i := range next {
				results[i] = run(ctx, &selected[i])
				meter.done(&selected[i], results[i])
			}
		})
	}
	for i := range selected {
		if ctx.Err() != nil {
			c := &selected[i]
			results[i] = Result{ID: c.ID, Promise: c.Promise, Source: c.Source, Status: Skipped, Reason: "the run was interrupted"}
			continue
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return results, nil
}

// unique returns an error if two cases have the same identifier.
func unique(cases []Case) error {
	seen := map[string]bool{}
	for i := range cases {
		if seen[cases[i].ID] {
			return fmt.Errorf("case %s: another case has this identifier: each case must have an identifier of its own", cases[i].ID)
		}
		seen[cases[i].ID] = true
	}
	return nil
}

// run runs a case and its cleanups.
func run(ctx context.Context, c *Case) Result {
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout(), fmt.Errorf("the case has not ended within %v", c.timeout()))
	defer cancel()
	t := &T{ctx: limited}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(limited, t)
	}()
	<-done // all calls in a case use the context, so the case ends soon after the context ends
	interrupted := ctx.Err() != nil
	t.clean(context.WithoutCancel(ctx))
	result := Result{ID: c.ID, Promise: c.Promise, Source: c.Source, Findings: t.findings, Status: Passed, Took: time.Since(began)}
	switch {
	case interrupted:
		// The findings of an interrupted case may be wrong, so drop them.
		result.Status, result.Reason, result.Findings = Skipped, "the run was interrupted", nil
	case t.failed():
		result.Status = Failed
	case t.skipped != "":
		result.Status, result.Reason = Skipped, t.skipped
	}
	return result
}
