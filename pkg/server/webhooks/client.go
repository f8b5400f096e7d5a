package webhooks

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// Client returns a client that connects to a webhook as the server does: it resolves services and verifies the
// webhook's certificate by the same settings. The client doesn't have the credentials of
// --admission-control-config-file.
func Client(config webhook.ClientConfig, services webhook.ServiceResolver, auth webhook.AuthenticationInfoResolverWrapper) (*rest.RESTClient, error) {
	manager, err := webhook.NewClientManager([]schema.GroupVersion{{Version: "v1"}})
	if err != nil {
		return nil, err
	}
	authentication, err := webhook.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		return nil, err
	}
	manager.SetAuthenticationInfoResolver(authentication)
	manager.SetAuthenticationInfoResolverWrapper(auth)
	manager.SetServiceResolver(services)
	client, err := manager.HookClient(config)
	if err != nil {
		return nil, fmt.Errorf("webhook %q: %w", config.Name, err)
	}
	return client, nil
}
