package webhooksuite

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Level is the importance of a finding.
type Level string

// The levels of findings.
const (
	// LevelError is for behaviour that breaks the protocol: API servers treat an answer of a webhook as a failure, or
	// requests of users fail.
	LevelError Level = "error"
	// LevelWarning is for behaviour that the protocol allows, but that harms users or the cluster.
	LevelWarning Level = "warning"
	// LevelAdvice is for behaviour that differs from a recommendation of the case's Source.
	LevelAdvice Level = "advice"
)

// Finding is a difference between the promise of a case and the behaviour of a webhook or server.
type Finding struct {
	Level Level `json:"level"`
	// Sent is the request, with its body, or the part of the configuration that the finding is about. It is "" if there
	// was none.
	Sent string `json:"sent,omitempty"`
	// Expected is the right result for this request. It is empty if the promise itself says what is right.
	Expected string `json:"expected,omitempty"`
	// Seen is the behaviour that contradicts the promise.
	Seen string `json:"seen"`
	// Advice names the change that a failing webhook or server needs. It may be empty.
	Advice string `json:"advice,omitempty"`
}

// Case is a promise about webhooks, and a function that checks it.
type Case struct {
	// ID identifies the case, and never changes. Dots separate its parts, from the subject to the detail.
	ID string
	// Promise is a sentence of the specification. Source names the document and the section with the sentence.
	Promise, Source string
	// Level is the usual level of the case's findings. A single finding may have another level.
	Level Level
	// Advice says how to repair a webhook that breaks the promise.
	Advice string
	// Cost is the approximate duration of the case. The zero value stands for the duration of a few calls.
	Cost time.Duration

	try func(context.Context, *Suite) ([]Finding, error)
}

// Skipped is the error of a case that can't check its promise for the webhooks of a suite. Its text is the reason.
type Skipped string

// Error implements error.
func (s Skipped) Error() string { return string(s) }

func skipped(format string, args ...any) error { return Skipped(fmt.Sprintf(format, args...)) }

// Run checks the promise for the suite's webhooks. If the promise can't be checked, the error is [Skipped].
func (c *Case) Run(ctx context.Context, s *Suite) ([]Finding, error) {
	s.versions.Do(s.setVersions)
	findings, err := c.try(ctx, s)
	for i := range findings {
		f := &findings[i]
		if f.Level == "" {
			f.Level = c.Level
		}
		if f.Advice == "" {
			f.Advice = c.Advice
		}
	}
	var reason Skipped
	if errors.As(err, &reason) && len(findings) > 0 {
		return findings, nil // with findings, the case is not skipped
	}
	return findings, err
}
