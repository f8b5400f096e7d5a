package conformance

import "time"

// Status is the outcome of a case.
type Status string

// The outcomes of a case.
const (
	// Passed means that the promise is kept.
	Passed Status = "passed"
	// Failed means that a finding of the level LevelError contradicts the promise.
	Failed Status = "failed"
	// Skipped means that the promise couldn't be tried, for a reason that the result names.
	Skipped Status = "skipped"
)

// Level says how much a finding weighs.
type Level string

// The levels of findings. The zero value counts as LevelError.
const (
	// LevelError contradicts the promise, and fails the case.
	LevelError Level = "error"
	// LevelWarning is allowed by the promise, but harms users.
	LevelWarning Level = "warning"
	// LevelAdvice is a practice that the source recommends.
	LevelAdvice Level = "advice"
)

// Finding is a difference between what a promise says and what was seen.
type Finding struct {
	Level Level `json:"level"`
	// Sent is what the target was sent, such as a request with its body. It is empty if nothing was sent.
	Sent string `json:"sent,omitempty"`
	// Expected and Seen are what the promise says of this request and what happened. Expected is empty if the promise
	// says it all.
	Expected string `json:"expected,omitempty"`
	Seen     string `json:"seen"`
	// Advice says what to change, if the finding knows.
	Advice string `json:"advice,omitempty"`
}

// Result is what a case found.
type Result struct {
	ID      string `json:"id"`
	Promise string `json:"promise"`
	Source  string `json:"source"`
	Status  Status `json:"status"`
	// Reason says why the case was skipped.
	Reason   string        `json:"reason,omitempty"`
	Findings []Finding     `json:"findings,omitempty"`
	Took     time.Duration `json:"tookNanoseconds"`
}

// Results are those of a run, in the order of its cases.
type Results []Result

// Count returns how many results have a status.
func (r Results) Count(status Status) int {
	n := 0
	for i := range r {
		if r[i].Status == status {
			n++
		}
	}
	return n
}
