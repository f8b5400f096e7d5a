package authn

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
)

// anonymous returns the settings for requests without credentials, as the flags set them.
func (o *Options) anonymous() *apiserver.AnonymousAuthConfig {
	config := &apiserver.AnonymousAuthConfig{Enabled: o.Anonymous.Allow}
	if o.Anonymous.Allow && !o.anonymousGiven() {
		for _, path := range o.Anonymous.DefaultPaths {
			config.Conditions = append(config.Conditions, apiserver.AnonymousAuthCondition{Path: path})
		}
	}
	return config
}

// anonymousGiven tells whether --anonymous-auth is on the command line.
func (o *Options) anonymousGiven() bool { return o.flags != nil && o.flags.Changed("anonymous-auth") }

func (o *AnonymousOptions) defaultSentence() string {
	if o.DefaultPaths == nil {
		return ""
	}
	return fmt.Sprintf(" Without this flag, only the paths %v allow such requests.", o.DefaultPaths)
}

// ApplyAuthorization turns anonymous requests off if the authorization mode AlwaysAllow is on, as kube-apiserver does:
// otherwise, anonymous users would be cluster admins. Anonymous requests that are limited to DefaultPaths stay allowed.
// The result is a warning, or "".
func (o *Options) ApplyAuthorization(modes []string) (warning string) {
	restricted := o != nil && o.Anonymous.DefaultPaths != nil && !o.anonymousGiven()
	if o == nil || !o.Anonymous.Allow || restricted || !sets.New(modes...).Has("AlwaysAllow") {
		return ""
	}
	o.Anonymous.Allow = false
	return "--anonymous-auth is not allowed with --authorization-mode=AlwaysAllow: it is reset to false"
}
