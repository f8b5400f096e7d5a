package authn

import (
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
)

func newWebhook(o *Options) (authenticator.Token, error) {
	config, err := webhookutil.LoadKubeconfig(o.Webhook.ConfigFile, nil)
	if err != nil {
		return nil, fmt.Errorf("--authentication-token-webhook-config-file %s: %w", o.Webhook.ConfigFile, err)
	}
	token, err := webhook.New(config, o.Webhook.Version, o.audiences(), *genericoptions.DefaultAuthWebhookRetryBackoff())
	if err != nil {
		return nil, fmt.Errorf("--authentication-token-webhook-config-file %s: %w", o.Webhook.ConfigFile, err)
	}
	return tokencache.New(token, false, o.Webhook.CacheTTL, o.Webhook.CacheTTL), nil
}
