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

// WithAudit calls a function with each audit event that the policy asks for, which is
// every one with requests and responses if the policy is nil. Events come from any
// goroutine, before or after the answer to their request as their stage says.
func WithAudit(policy *auditv1.Policy, sink func(*auditv1.Event)) Option {
	return func(o *options) error {
		if sink == nil {
			return errors.New("audit: the function that takes the events is nil")
		}
		if o.auditSink != nil {
			return errors.New("audit: WithAudit is given twice, and a server has one policy: call both functions from one")
		}
		o.auditSink = auditSink(sink)
		if policy == nil {
			return nil
		}
		if len(policy.Rules) == 0 { // as a file of --audit-policy-file without any is refused
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
		// The server goes on with the event, whose parts the conversion would share.
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
