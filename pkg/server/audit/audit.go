// Package audit configures which requests a server tells its audit backends of. Don't use it for a log of requests to
// read: package requestlog has that.
package audit

import (
	"fmt"
	"strings"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/miniapi-dev/miniapi/pkg/server/files"
)

// Add sends audit events to a backend, beside those that the configuration has. The policy takes the place of the
// configuration's, unless it is nil and there is one.
func Add(config *genericapiserver.Config, backend audit.Backend, rules *auditinternal.Policy) {
	if config.AuditBackend != nil {
		backend = audit.Union(config.AuditBackend, backend)
	}
	config.AuditBackend = backend
	if rules == nil && config.AuditPolicyRuleEvaluator == nil {
		rules = &auditinternal.Policy{Rules: []auditinternal.PolicyRule{{Level: auditinternal.LevelRequestResponse}}}
	}
	if rules != nil {
		config.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(rules)
	}
}

// Apply sends audit events where the options say.
func Apply(o *genericoptions.AuditOptions, config *genericapiserver.Config) error {
	err := o.ApplyTo(config)
	if err == nil {
		return nil
	}
	// The error says which of the files is at fault, but not where the file is.
	var files []string
	for _, file := range []struct{ flag, path string }{
		{"--audit-policy-file", o.PolicyFile},
		{"--audit-log-path", o.LogOptions.Path},
		{"--audit-webhook-config-file", o.WebhookOptions.ConfigFile},
	} {
		if file.path != "" {
			files = append(files, file.flag+" "+file.path)
		}
	}
	return fmt.Errorf("%s: %w", strings.Join(files, ", "), err)
}

// ValidateFiles checks the files that the options name.
func ValidateFiles(o *genericoptions.AuditOptions) []error {
	return []error{checkPolicy(o), checkWebhook(o)}
}

func checkPolicy(o *genericoptions.AuditOptions) error {
	if o == nil || o.PolicyFile == "" {
		return nil
	}
	if _, err := policy.LoadPolicyFromFile(o.PolicyFile); err != nil {
		return fmt.Errorf("--audit-policy-file %s: %w", o.PolicyFile, err)
	}
	return nil
}

// checkWebhook leaves out what isn't read: without a policy there are no events.
func checkWebhook(o *genericoptions.AuditOptions) error {
	if o == nil || o.PolicyFile == "" {
		return nil
	}
	return files.Readable("audit-webhook-config-file", o.WebhookOptions.ConfigFile)
}
