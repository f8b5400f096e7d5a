package miniapitest

import (
	"errors"
	"fmt"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/apis/audit/validation"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/klog/v2"
)

// WithAudit calls sink with each audit event that the policy selects. If the policy is nil, these are the events of all
// requests, with request and response. Many goroutines call sink, before or after the response, according to the
// event's stage.
func WithAudit(policy *auditv1.Policy, sink func(*auditv1.Event)) Option {
	return func(o *options) error {
		if sink == nil {
			return errors.New("audit: the function that takes the events is nil")
		}
		if o.auditSink != nil {
			return errors.New("audit: WithAudit is given twice, and a server has one policy: let one function call both")
		}
		o.auditSink = auditSink(sink)
		if policy == nil {
			return nil
		}
		if len(policy.Rules) == 0 { // --audit-policy-file refuses a policy without rules too
			return errors.New("audit policy: rules must be set, or nothing is recorded; a nil policy records everything")
		}
		rules := policy.DeepCopy()
		audit.Scheme.Default(rules)
		o.auditPolicy = &auditinternal.Policy{}
		if err := audit.Scheme.Convert(rules, o.auditPolicy, nil); err != nil {
			return fmt.Errorf("audit policy: %w", err)
		}
		if errs := validation.ValidatePolicy(o.auditPolicy); len(errs) > 0 {
			return fmt.Errorf("audit policy: %w", errs.ToAggregate())
		}
		return nil
	}
}

// auditSink is an audit.Backend.
type auditSink func(*auditv1.Event)

// ProcessEvents implements audit.Sink.
func (s auditSink) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		public := &auditv1.Event{}
		// The conversion shares parts of the event, and the server goes on using the event.
		if err := audit.Scheme.Convert(event.DeepCopy(), public, nil); err != nil {
			klog.ErrorS(err, "an audit event is lost", "auditID", event.AuditID)
			return false
		}
		s(public)
	}
	return true
}

// Run implements audit.Backend.
func (s auditSink) Run(<-chan struct{}) error { return nil }

// Shutdown implements audit.Backend.
func (s auditSink) Shutdown() {}

// String implements audit.Backend.
func (s auditSink) String() string { return "miniapitest" }
