package conformance

import (
	"time"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/webhooktest/webhooksuite"
)

// Status is the outcome of a case.
type Status string

// The outcomes of a case.
const (
	// Passed means that no finding contradicts the promise.
	Passed Status = "passed"
	// Failed means that a finding of the level LevelError contradicts the promise.
	Failed Status = "failed"
	// Skipped means that the promise couldn't be checked. The result has the reason.
	Skipped Status = "skipped"
)

// Level is the importance of a finding. The zero value counts as LevelError, which fails the case.
type Level = webhooksuite.Level

// The levels of findings.
const (
	LevelError   = webhooksuite.LevelError
	LevelWarning = webhooksuite.LevelWarning
	LevelAdvice  = webhooksuite.LevelAdvice
)

// Finding is a difference between a promise and the observed behaviour.
type Finding = webhooksuite.Finding

// Result tells whether a case has passed, with its findings.
type Result struct {
	ID      string `json:"id"`
	Promise string `json:"promise"`
	Source  string `json:"source"`
	Status  Status `json:"status"`
	// Reason is the reason why the case was skipped.
	Reason   string        `json:"reason,omitempty"`
	Findings []Finding     `json:"findings,omitempty"`
	Took     time.Duration `json:"tookNanoseconds"`
}

// Results are the results of a run, in the order of the cases.
type Results []Result

// Count returns the number of results with a status.
func (r Results) Count(status Status) int {
	n := 0
	for i := range r {
		if r[i].Status == status {
			n++
		}
	}
	return n
}
