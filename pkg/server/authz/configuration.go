package authz

import (
	"fmt"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
)

// configuration returns the AuthorizationConfiguration of the file of --authorization-config, and the file's content.
// Without the file, the configuration is made from the other flags.
func (o *Options) configuration() (config *apiserver.AuthorizationConfiguration, data []byte, err error) {
	if o.ConfigFile == "" {
		return o.configurationOfFlags(), nil, nil
	}
	if data, err = os.ReadFile(o.ConfigFile); err == nil {
		config, err = o.parse(data)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--authorization-config %s: %w", o.ConfigFile, err)
	}
	return config, data, nil
}

// parse reads the content of the file of --authorization-config.
func (o *Options) parse(data []byte) (*apiserver.AuthorizationConfiguration, error) {
	config, err := load.LoadFromData(data)
	if err != nil {
		return nil, err
	}
	if errs := validation.ValidateAuthorizationConfiguration(authorizationcel.NewDefaultCompiler(), nil, config, sets.New(Modes()...), sets.New(ModeWebhook)); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	for _, a := range config.Authorizers {
		if mode := string(a.Type); mode != ModeWebhook && a.Name != nameOf(mode) {
			return nil, fmt.Errorf("expected name %s for authorizer %s instead of %s", nameOf(mode), mode, a.Name)
		}
		if a.Webhook != nil && a.Webhook.ConnectionInfo.Type == apiserver.AuthorizationWebhookConnectionInfoTypeInCluster {
			return nil, fmt.Errorf("authorizer %s: connectionInfo.type %s: must be KubeConfigFile, because the server can't be its own authorizer", a.Name, a.Webhook.ConnectionInfo.Type)
		}
		if a.Type == ModeABAC && o.PolicyFile == "" {
			return nil, fmt.Errorf("--authorization-policy-file: must be given for the authorizer %s", a.Name)
		}
	}
	return config, nil
}

func (o *Options) configurationOfFlags() *apiserver.AuthorizationConfiguration {
	config := &apiserver.AuthorizationConfiguration{}
	for _, mode := range o.Modes {
		a := apiserver.AuthorizerConfiguration{Type: apiserver.AuthorizerType(mode), Name: nameOf(mode)}
		if mode == ModeWebhook {
			a.Webhook = &apiserver.WebhookConfiguration{
				AuthorizedTTL:              metav1.Duration{Duration: o.Webhook.AuthorizedTTL},
				CacheAuthorizedRequests:    true,
				UnauthorizedTTL:            metav1.Duration{Duration: o.Webhook.UnauthorizedTTL},
				CacheUnauthorizedRequests:  true,
				Timeout:                    metav1.Duration{Duration: 30 * time.Second},
				SubjectAccessReviewVersion: o.Webhook.Version,
				FailurePolicy:              apiserver.FailurePolicyNoOpinion,
				ConnectionInfo: apiserver.WebhookConnectionInfo{
					Type:           apiserver.AuthorizationWebhookConnectionInfoTypeKubeConfigFile,
					KubeConfigFile: &o.Webhook.ConfigFile,
				},
			}
		}
		config.Authorizers = append(config.Authorizers, a)
	}
	return config
}

// nameOf returns the name of a mode's authorizer in metrics.
func nameOf(mode string) string {
	if mode == ModeWebhook {
		return "default"
	}
	return strings.ToLower(mode)
}
