package authz

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// These are the modes of --authorization-mode. They are also the types of authorizers in an
// AuthorizationConfiguration.
const (
	ModeAlwaysAllow = "AlwaysAllow"
	ModeAlwaysDeny  = "AlwaysDeny"
	ModeABAC        = "ABAC"
	ModeWebhook     = "Webhook"
	ModeRBAC        = "RBAC"
	ModeNode        = "Node"
)

// Modes returns all modes.
func Modes() []string {
	return []string{ModeAlwaysAllow, ModeAlwaysDeny, ModeABAC, ModeWebhook, ModeRBAC, ModeNode}
}

// Options are the flags of authorization, under kube-apiserver's names. The zero value is not ready for use:
// call [NewOptions].
type Options struct {
	// Modes are the names of the authorizers, in the order in which the authorizers decide.
	Modes []string
	// PolicyFile is the policy file of mode ABAC.
	PolicyFile string
	// Webhook configures mode Webhook.
	Webhook WebhookOptions
	// ConfigFile is the path of an AuthorizationConfiguration (KEP-3221), which replaces Modes and Webhook.
	ConfigFile string

	flags *pflag.FlagSet
}

// WebhookOptions are the --authorization-webhook-* flags.
type WebhookOptions struct {
	// ConfigFile is a kubeconfig with the URL of the webhook, which receives SubjectAccessReviews.
	ConfigFile string
	// Version is the version of the SubjectAccessReviews: v1 or v1beta1.
	Version string
	// AuthorizedTTL and UnauthorizedTTL are the times for which allowing and refusing answers of the webhook are
	// cached.
	AuthorizedTTL, UnauthorizedTTL time.Duration
}

// NewOptions returns the defaults: kube-apiserver's, but with mode RBAC.
func NewOptions() *Options {
	return &Options{
		Modes: []string{ModeRBAC},
		Webhook: WebhookOptions{
			Version:         "v1beta1",
			AuthorizedTTL:   5 * time.Minute,
			UnauthorizedTTL: 30 * time.Second,
		},
	}
}

// AddFlags registers the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	if o == nil {
		return
	}
	o.flags = fs
	fs.StringSliceVar(&o.Modes, "authorization-mode", o.Modes,
		"Authorizers to ask, in order: "+strings.Join(Modes(), ", ")+".")
	fs.StringVar(&o.PolicyFile, "authorization-policy-file", o.PolicyFile,
		"File of policies for --authorization-mode=ABAC, one JSON object a line.")
	fs.StringVar(&o.Webhook.ConfigFile, "authorization-webhook-config-file", o.Webhook.ConfigFile,
		"File in kubeconfig format with the webhook of --authorization-mode=Webhook.")
	fs.StringVar(&o.Webhook.Version, "authorization-webhook-version", o.Webhook.Version,
		"Version of authorization.k8s.io SubjectAccessReview that the webhook is sent.")
	fs.DurationVar(&o.Webhook.AuthorizedTTL, "authorization-webhook-cache-authorized-ttl", o.Webhook.AuthorizedTTL,
		"For how long the server caches an allowing answer of the webhook.")
	fs.DurationVar(&o.Webhook.UnauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", o.Webhook.UnauthorizedTTL,
		"For how long the server caches a refusing answer of the webhook.")
	fs.StringVar(&o.ConfigFile, "authorization-config", o.ConfigFile,
		"File with an AuthorizationConfiguration. Excludes --authorization-mode and --authorization-webhook-*.")
}

// flagsOfConfig are the flags that can't be used with an AuthorizationConfiguration.
var flagsOfConfig = []string{
	"authorization-mode",
	"authorization-webhook-config-file",
	"authorization-webhook-version",
	"authorization-webhook-cache-authorized-ttl",
	"authorization-webhook-cache-unauthorized-ttl",
}

// Validate returns the errors of the flags, and the errors of the file of --authorization-config. It doesn't read a file
// that is a pipe.
func (o *Options) Validate() []error {
	if o == nil {
		return nil
	}
	var errs []error
	if o.ConfigFile != "" {
		for _, flag := range flagsOfConfig {
			if o.flags != nil && o.flags.Changed(flag) {
				errs = append(errs, fmt.Errorf("--authorization-config %s: can't be combined with --%s: leave one of them out", o.ConfigFile, flag))
			}
		}
		// Validate must not read a pipe, which can be read only once: [Options.Build] reads it.
		if info, err := os.Stat(o.ConfigFile); err == nil && !info.Mode().IsRegular() {
			return errs
		}
		if _, _, err := o.configuration(); err != nil {
			errs = append(errs, err)
		}
		return errs
	}

	if len(o.Modes) == 0 {
		errs = append(errs, fmt.Errorf("--authorization-mode: must have at least one of %s", strings.Join(Modes(), ", ")))
	}
	for i, mode := range o.Modes {
		if !slices.Contains(Modes(), mode) {
			errs = append(errs, fmt.Errorf("--authorization-mode: %q must be one of %s", mode, strings.Join(Modes(), ", ")))
		}
		if slices.Contains(o.Modes[:i], mode) {
			errs = append(errs, fmt.Errorf("--authorization-mode: %q is given more than once: give each mode once", mode))
		}
	}
	for _, file := range []struct{ mode, flag, value string }{
		{ModeABAC, "authorization-policy-file", o.PolicyFile},
		{ModeWebhook, "authorization-webhook-config-file", o.Webhook.ConfigFile},
	} {
		switch used := slices.Contains(o.Modes, file.mode); {
		case used && file.value == "":
			errs = append(errs, fmt.Errorf("--%s: must be given together with --authorization-mode=%s", file.flag, file.mode))
		case !used && file.value != "":
			errs = append(errs, fmt.Errorf("--%s %s: can't be given without --authorization-mode=%s", file.flag, file.value, file.mode))
		}
	}
	if v := o.Webhook.Version; v != "v1" && v != "v1beta1" {
		errs = append(errs, fmt.Errorf("--authorization-webhook-version: %q must be v1 or v1beta1", v))
	}
	return errs
}
