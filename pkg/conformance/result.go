package conformance

import "time"

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

// Level is the importance of a finding.
type Level string

// The levels of findings. The zero value counts as LevelError.
const (
	// LevelError is for behaviour that contradicts the promise. It fails the case.
	LevelError Level = "error"
	// LevelWarning is for behaviour that the promise allows, but that harms users.
	LevelWarning Level = "warning"
	// LevelAdvice is for behaviour that differs from a recommendation of the source.
	LevelAdvice Level = "advice"
)

// Finding is a difference between a promise and the observed behaviour.
type Finding struct {
	Level Level `json:"level"`
	// Sent is the request to the target, with its body, or "" if there was none.
	Sent string `json:"sent,omitempty"`
	// Expected is the right result for this request, and Seen is the observed result. Expected is empty if the promise
	// itself says what is right.
	Expected string `json:"expected,omitempty"`
	Seen     string `json:"seen"`
	// Advice says how to repair the target. It may be empty.
	Advice string `json:"advice,omitempty"`
}

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
