package webhook

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Level says how much a finding weighs.
type Level string

// The levels of findings.
const (
	// LevelError breaks the protocol: API servers take the answer as a failure, or requests of users fail.
	LevelError Level = "error"
	// LevelWarning is allowed by the protocol, but harms users or the cluster.
	LevelWarning Level = "warning"
	// LevelAdvice is a practice that the source recommends.
	LevelAdvice Level = "advice"
)

// Finding is a difference between what a case expects and what was seen.
type Finding struct {
	Level Level
	// Sent is what the webhook was sent, or the part of the configuration that was read.
	Sent string
	// Seen is what happened, against the promise of the case.
	Seen string
	// Advice says what to change.
	Advice string
}

// Case is a promise that webhooks keep, and how to try it.
type Case struct {
	// ID is stable. Its parts have dots between them, from the subject to the detail.
	ID string
	// Promise is a sentence of the specification, and Source the document and section that has it.
	Promise, Source string
	// Level is that of the case's findings. A finding may weigh less.
	Level Level
	// Advice says what to change in a webhook that breaks the promise.
	Advice string
	// Cost is about how long the case takes. The zero value stands for a few calls.
	Cost time.Duration

	try func(context.Context, *Suite) ([]Finding, error)
}

// Skipped is the reason why a case can't be tried.
type Skipped string

// Error implements error.
func (s Skipped) Error() string { return string(s) }

func skipped(format string, args ...any) error { return Skipped(fmt.Sprintf(format, args...)) }

// Run tries the case against the suite's webhooks. An error that is [Skipped] means that the case couldn't be tried.
func (c *Case) Run(ctx context.Context, s *Suite) ([]Finding, error) {
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
		return findings, nil // a finding isn't lost
	}
	return findings, err
}

// Cases returns all cases, in the order of a report.
func Cases() []Case {
	var all []Case
	for _, part := range []func() []Case{
		responseCases, requestCases, patchCases, repetitionCases, loadCases, badInputCases, tlsCases, configurationCases,
	} {
		all = append(all, part()...)
	}
	return all
}

// The documents of the cases.
const (
	requestSource        = "Dynamic Admission Control, Request"
	responseSource       = "Dynamic Admission Control, Response"
	idempotenceSource    = "Dynamic Admission Control, Idempotence"
	availabilitySource   = "Dynamic Admission Control, Availability"
	contactSource        = "Dynamic Admission Control, Contacting the webhook"
	serviceSource        = "Dynamic Admission Control, Service reference"
	sideEffectsSource    = "Dynamic Admission Control, Side effects"
	rulesSource          = "Dynamic Admission Control, Matching requests: rules"
	httpSource           = "RFC 9110, Client Error 4xx"
	referenceSource      = "Kubernetes API reference, AdmissionReview"
	configurationSource  = "Dynamic Admission Control, Webhook configuration"
	admissionServerLimit = "KEP-492, Webhook timeouts"
)
