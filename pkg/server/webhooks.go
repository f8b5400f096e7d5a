package server

import (
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// CA is the server's own certificate authority, in PEM.
func (c *Config) CA() []byte { return c.authority.CA() }

// ServingCertificate issues a certificate of the server's own authority, with its key,
// in PEM: for webhooks, which the server trusts with it where it found them by
// Options.Admission.Services, or by CA as the caBundle.
func (c *Config) ServingCertificate(hosts []string, ips []net.IP) (cert, key []byte, err error) {
	pair, err := c.authority.Serving(pki.Names{DNS: hosts, IPs: ips})
	return pair.Cert, pair.Key, err
}

// WebhookClient is a client that reaches a webhook in the way in which the server does
// when it calls it: services are resolved, and who answers is verified, as they are then.
func (s *Server) WebhookClient(webhook utilwebhook.ClientConfig) (*rest.RESTClient, error) {
	manager, err := utilwebhook.NewClientManager([]schema.GroupVersion{{Version: "v1"}})
	if err != nil {
		return nil, err
	}
	authentication, err := utilwebhook.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		return nil, err
	}
	manager.SetAuthenticationInfoResolver(authentication)
	manager.SetAuthenticationInfoResolverWrapper(s.config.webhookAuth)
	manager.SetServiceResolver(s.config.services)
	client, err := manager.HookClient(webhook)
	if err != nil {
		return nil, fmt.Errorf("webhook %q: %w", webhook.Name, err)
	}
	return client, nil
}
