package services

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// NewManager returns k8s.io/apiserver's manager of clients of webhooks. The argument services resolves the webhooks'
// services. The argument auth sets up the connections. The clients don't have the credentials of
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

// NewClient returns the client of one webhook. It takes the client from a manager that NewManager makes with the
// arguments services and auth.
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
