package server

import (
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
)

// AuditTo sends audit events to a backend, beside those of the options. The policy takes
// the place of the options' one, unless it is nil and there is one.
func (c *Config) AuditTo(backend audit.Backend, rules *auditinternal.Policy) {
	if c.generic.AuditBackend != nil {
		backend = audit.Union(c.generic.AuditBackend, backend)
	}
	c.generic.AuditBackend = backend
	if rules == nil && c.generic.AuditPolicyRuleEvaluator == nil {
		rules = &auditinternal.Policy{Rules: []auditinternal.PolicyRule{{Level: auditinternal.LevelRequestResponse}}}
	}
	if rules != nil {
		c.generic.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(rules)
	}
}
