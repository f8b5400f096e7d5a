package hookcalls

import (
	"fmt"
	"net/http"
	"sync"

	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	runtimev1 "github.com/miniapi-dev/miniapi/pkg/runtimehooks/api/runtime/v1beta2"
	"github.com/miniapi-dev/miniapi/pkg/runtimehooks/hookclient"
)

// connector makes connections to extensions in the same way as connections to admission webhooks, but with the client
// certificate for extensions, if there is one. It uses k8s.io/apiserver's manager of webhook clients, with the resolver
// of services and the trusted authorities that the server also uses for admission webhooks.
type connector struct {
	config      Config
	certificate *hookclient.Certificate // the client certificate for extensions, or nil without one

	mu      sync.Mutex
	manager *utilwebhook.ClientManager
}

var _ hookclient.Connector = &connector{}

func newConnector(config Config) (*connector, error) {
	c := &connector{config: config}
	if config.Options.CertFile != "" {
		var err error
		if c.certificate, err = hookclient.NewCertificate(config.Options.CertFile, config.Options.KeyFile); err != nil {
			return nil, fmt.Errorf("--runtime-extension-client-cert-file %s and --runtime-extension-client-key-file %s: %w", config.Options.CertFile, config.Options.KeyFile, err)
		}
	}
	return c, c.newManager()
}

// newManager makes a new manager of webhook clients, without clients. Clients keep the certificate that they were
// made with, so a new certificate needs a new manager.
func (c *connector) newManager() error {
	manager, err := services.NewManager(c.config.Services, c.authenticating)
	if err != nil {
		return err
	}
	c.manager = manager
	return nil
}

// authenticating wraps a resolver of webhook credentials, so that connections to extensions use the client certificate
// for extensions. Without such a certificate, they use the credentials for webhooks.
func (c *connector) authenticating(delegate utilwebhook.AuthenticationInfoResolver) utilwebhook.AuthenticationInfoResolver {
	if c.certificate == nil {
		return c.config.WebhookAuth(delegate)
	}
	show := func(config *rest.Config, err error) (*rest.Config, error) {
		if err != nil {
			return nil, err
		}
		config = rest.CopyConfig(config)
		config.CertData, config.KeyData = c.certificate.PEM()
		return config, nil
	}
	return c.config.WebhookAuth(&utilwebhook.AuthenticationInfoResolverDelegator{
		ClientConfigForFunc: func(hostPort string) (*rest.Config, error) { return show(delegate.ClientConfigFor(hostPort)) },
		ClientConfigForServiceFunc: func(name, namespace string, port int) (*rest.Config, error) {
			return show(delegate.ClientConfigForService(name, namespace, port))
		},
	})
}

// Connect implements hookclient.Connector.
func (c *connector) Connect(config runtimev1.ClientConfig) (hookclient.Connection, error) {
	if _, err := hookclient.BaseURL(config); err != nil {
		return hookclient.Connection{}, err
	}
	webhook := utilwebhook.ClientConfig{Name: "ExtensionConfig", URL: config.URL, CABundle: config.CABundle}
	if s := config.Service; s.IsSet() {
		webhook.Service = &utilwebhook.ClientConfigService{
			Namespace: s.Namespace, Name: s.Name, Path: s.Path, Port: ptr.Deref(s.Port, runtimev1.DefaultServicePort),
		}
	}
	manager, err := c.current()
	if err != nil {
		return hookclient.Connection{}, err
	}
	reached, err := manager.HookClient(webhook)
	if err != nil {
		return hookclient.Connection{}, err
	}
	return hookclient.Connection{URL: reached.Post().URL(), HTTP: hookclient.NoRedirects(&http.Client{Transport: reached.Client.Transport})}, nil
}

// current returns the manager whose clients have the present certificate.
func (c *connector) current() (*utilwebhook.ClientManager, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.certificate != nil {
		changed, err := c.certificate.Reload()
		if err != nil {
			return nil, err
		}
		if changed {
			if err := c.newManager(); err != nil {
				return nil, err
			}
		}
	}
	return c.manager, nil
}
