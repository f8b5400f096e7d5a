package miniapitest

import (
	"encoding/json"
	"errors"
	"fmt"
)

// WithAudit calls sink with each audit event that the policy selects. If the policy is nil, sink gets the events of all
// requests, with the request and the response. Several goroutines may call sink at the same time. The stage of an event
// says whether sink is called before or after the response.
//
// The policy is a Policy of audit.k8s.io/v1, and Event is the type of the events. Use auditv1.Policy and auditv1.Event
// of k8s.io/apiserver, or other types with the same JSON.
func WithAudit[Event any](policy any, sink func(*Event)) Option {
	return func(o *options) error {
		if sink == nil {
			return errors.New("audit: the function sink of WithAudit is nil: give a function that takes the events")
		}
		if o.auditSink != nil {
			return errors.New("audit: WithAudit is given twice: a server has one audit policy, so let one function call both functions")
		}
		o.description.Audit = true
		o.auditSink = func(encoded []byte) error {
			event := new(Event)
			if err := json.Unmarshal(encoded, event); err != nil {
				return fmt.Errorf("decoding an audit event as %T: %w", event, err)
			}
			sink(event)
			return nil
		}
		if isNil(policy) {
			return nil
		}
		var err error
		if o.description.AuditPolicy, err = json.Marshal(policy); err != nil {
			return fmt.Errorf("audit policy: %w", err)
		}
		return nil
	}
}

// takeAudit returns the function that is called with audit events. If an event can't be decoded for the function of
// WithAudit, the server's log has the error.
func (o *options) takeAudit(log *serverLog) func(event []byte) {
	return func(event []byte) {
		if err := o.auditSink(event); err != nil {
			log.note("an audit event is lost: %v", err)
		}
	}
}
