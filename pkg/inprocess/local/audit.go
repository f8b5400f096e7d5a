package local

import (
	"encoding/json"
	"errors"
	"fmt"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/apis/audit/validation"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/klog/v2"
)

// auditPolicy decodes the audit policy of a server's description. The result is nil if the description has none.
func auditPolicy(policy json.RawMessage) (*auditinternal.Policy, error) {
	if len(policy) == 0 {
		return nil, nil
	}
	rules := &auditv1.Policy{}
	if err := json.Unmarshal(policy, rules); err != nil {
		return nil, fmt.Errorf("audit policy: %w", err)
	}
	if len(rules.Rules) == 0 { // like --audit-policy-file, refuse a policy without rules
		return nil, errors.New("audit policy: rules must be set, or nothing is recorded; a nil policy records everything")
	}
	audit.Scheme.Default(rules)
	internal := &auditinternal.Policy{}
	if err := audit.Scheme.Convert(rules, internal, nil); err != nil {
		return nil, fmt.Errorf("audit policy: %w", err)
	}
	if errs := validation.ValidatePolicy(internal); len(errs) > 0 {
		return nil, fmt.Errorf("audit policy: %w", errs.ToAggregate())
	}
	return internal, nil
}

// auditSink is an audit backend that passes each event on in JSON.
type auditSink func(event []byte)

// ProcessEvents implements audit.Sink.
func (s auditSink) ProcessEvents(events ...*auditinternal.Event) bool {
	for _, event := range events {
		encoded, err := encode(event)
		if err != nil {
			klog.ErrorS(err, "an audit event is lost", "auditID", event.AuditID)
			return false
		}
		s(encoded)
	}
	return true
}

func encode(event *auditinternal.Event) ([]byte, error) {
	public := &auditv1.Event{}
	if err := audit.Scheme.Convert(event, public, nil); err != nil {
		return nil, err
	}
	return json.Marshal(public)
}

// Run implements audit.Backend.
func (s auditSink) Run(<-chan struct{}) error { return nil }

// Shutdown implements audit.Backend.
func (s auditSink) Shutdown() {}

// String implements audit.Backend.
func (s auditSink) String() string { return "miniapitest" }
