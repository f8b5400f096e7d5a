package services

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// NewManager returns the library's manager of clients of webhooks. The manager resolves services and makes connections
// as the argument services and the argument auth say. Its clients don't have the credentials of
// --admission-control-config-file.
func NewManager(services webhook.ServiceResolver, auth webhook.AuthenticationInfoResolverWrapper) (*webhook.ClientManager, error) {
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
	return &manager, nil
}

// NewClient returns a client that connects to a webhook as the server does: it resolves services and verifies the
// webhook's certificate by the same settings. The client is one of a manager that NewManager returns.
func NewClient(config webhook.ClientConfig, services webhook.ServiceResolver, auth webhook.AuthenticationInfoResolverWrapper) (*rest.RESTClient, error) {
	manager, err := NewManager(services, auth)
	if err != nil {
		return nil, err
	}
	client, err := manager.HookClient(config)
	if err != nil {
		return nil, fmt.Errorf("webhook %q: %w", config.Name, err)
	}
	return client, nil
}
