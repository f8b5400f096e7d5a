package conformance

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"
)

// cleanupTimeout limits the removal of a case's objects. The removal also runs after an interrupted case.
const cleanupTimeout = 2 * time.Minute

// T has the methods by which a running case reports, like *testing.T for a test. The methods may be called
// concurrently. Only the goroutine of Run may call the methods that end the case.
type T struct {
	ctx context.Context

	mu       sync.Mutex
	findings []Finding
	skipped  string
	cleanups []func(context.Context) error
}

// Context returns the context of the case. It ends at the timeout of the case, and when the run is interrupted.
func (t *T) Context() context.Context { return t.ctx }

// Report adds a finding. The case continues.
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

// Skip ends the case. The reason says why the promise of the case can't be checked.
func (t *T) Skip(reason string) {
	t.mu.Lock()
	t.skipped = reason
	t.mu.Unlock()
	runtime.Goexit()
}

// Cleanup adds a function that is called after the end of the case, however it ends. The function that was added last
// is called first. An interruption of the run doesn't end the context of the functions.
func (t *T) Cleanup(f func(context.Context) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *T) failed() bool {
	for _, f := range t.findings {
		if f.Level == LevelError {
			return true
		}
	}
	return false
}

// clean calls the cleanups, the last one first.
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
