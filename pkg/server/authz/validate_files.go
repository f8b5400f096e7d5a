package authz

import "github.com/miniapi-dev/miniapi/pkg/server/files"

// ValidateFiles checks the files that the options name.
func (o *Options) ValidateFiles() []error {
	return []error{
		files.Readable("authorization-policy-file", o.PolicyFile),
		files.Readable("authorization-webhook-config-file", o.Webhook.ConfigFile),
	}
}
