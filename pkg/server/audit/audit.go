// Package audit configures the audit log of a server: the requests that the server reports to its audit backends.
//
// [Apply] applies the flags, after [ValidateFiles] has checked the files that they name. [Add] adds a backend that no
// flag configures. Don't use the package for a log that developers read: see package requestlog.
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

// Add makes a server send audit events to another backend, too. If the argument "rules" isn't nil, it replaces the
// configured policy for all backends. If there is no policy at all, the backend gets all events with requests and
// responses.
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

// Apply makes a server send audit events to the backends of the options.
func Apply(o *genericoptions.AuditOptions, config *genericapiserver.Config) error {
	err := o.ApplyTo(config)
	if err == nil {
		return nil
	}
	// The error of k8s.io/apiserver names a file, but not the file's flag. Therefore, the returned error names the
	// flags of all files.
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

// ValidateFiles checks the audit policy file and the webhook's kubeconfig file. The result has an entry for each file,
// which is nil without an error.
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

// checkWebhook checks the webhook's kubeconfig file. Without an audit policy, the server doesn't read the file, and
// checkWebhook returns nil.
func checkWebhook(o *genericoptions.AuditOptions) error {
	if o == nil || o.PolicyFile == "" {
		return nil
	}
	return files.Readable("audit-webhook-config-file", o.WebhookOptions.ConfigFile)
}
