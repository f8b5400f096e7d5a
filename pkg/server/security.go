package server

import (
	"context"
	"crypto"
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditbackend "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/miniapi-dev/miniapi/pkg/server/audit"
	"github.com/miniapi-dev/miniapi/pkg/server/authentication"
	"github.com/miniapi-dev/miniapi/pkg/server/authorization/rbac"
	"github.com/miniapi-dev/miniapi/pkg/server/listener"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
	"github.com/miniapi-dev/miniapi/pkg/server/webhooktokens"
)

// security has the keys and certificates of the server, and the authorities that it trusts.
type security struct {
	authority      *pki.Authority
	signingKey     crypto.Signer // the stored signer of service account tokens, or nil if there is none
	authentication *authentication.Applied
	escalation     func(ctx context.Context, obj, old runtime.Object) error
	// services resolves Services, such as those of webhooks, to addresses. webhookAuth authenticates the server to
	// webhooks.
	services    webhook.ServiceResolver
	webhookAuth webhook.AuthenticationInfoResolverWrapper
	// webhookTokens are the tokens for webhooks, or nil if their feature gate is off.
	webhookTokens *webhooktokens.Tokens
	// tokens are the bearer tokens of the controllers, by user name.
	tokens map[string]string
}

// CA is the server's own certificate authority, in PEM.
func (c *Config) CA() []byte { return c.security.authority.CA() }

// ServingCertificate issues a serving certificate for a webhook by the server's own authority. It returns the
// certificate and its key in PEM. The server trusts the certificate if Options.Admission.Services has the address of
// the webhook, or if the webhook's caBundle is CA.
func (c *Config) ServingCertificate(hosts []string, ips []net.IP) (cert, key []byte, err error) {
	pair, err := c.security.authority.Serving(pki.Names{DNS: hosts, IPs: ips})
	return pair.Cert, pair.Key, err
}

// AuditTo sends audit events to a further backend, in addition to the backends of the options. If the argument rules
// isn't nil, it replaces the policy of the options. Without any policy, the backend gets all events with requests and
// responses.
func (c *Config) AuditTo(backend auditbackend.Backend, rules *auditinternal.Policy) {
	audit.Add(c.generic, backend, rules)
}

// addresses returns the addresses by which clients reach the server.
func addresses(c *Config) listener.Addresses {
	return listener.Addresses{
		Bound:         c.options.Serving.BindAddress,
		Public:        c.generic.PublicAddress,
		Advertise:     c.options.ServerRun.AdvertiseAddress,
		AdvertiseHost: c.options.AdvertiseHost,
		External:      c.options.ServerRun.ExternalHost,
		ServiceRange:  c.options.serviceRange[0],
	}
}

// secure reads or makes the server's keys and certificates, and configures the server to serve with them.
func secure(_ context.Context, c *Config) (err error) {
	own := c.options.ownKeys()
	if c.security.authority, err = own.Authority(); err != nil {
		return err
	}
	if c.options.Authentication.ServiceAccounts.SigningKeyFile == "" {
		if c.security.signingKey, err = own.SigningKey(); err != nil {
			return err
		}
	}
	serving := *c.options.Serving
	serving.Listener = c.listener
	if serving.ServerCert.CertKey.CertFile == "" && serving.ServerCert.GeneratedCert == nil {
		names, err := addresses(c).Names()
		if err != nil {
			return err
		}
		if err := c.options.servingKeys().Serving(c.security.authority, names, &serving); err != nil {
			return err
		}
	}
	if err := serving.ApplyTo(&c.generic.SecureServing); err != nil {
		return fmt.Errorf("serving on %s: %w", serving.Listener.Addr(), err)
	}
	return nil
}

func buildAuthentication(_ context.Context, c *Config) error {
	ca, err := dynamiccertificates.NewStaticCAContent("miniapi", c.CA())
	if err != nil {
		return err
	}
	applied, err := c.options.Authentication.ApplyTo(c.life, &c.generic.Authentication, c.generic.SecureServing, authentication.Environment{
		Client: c.clients.typed.CoreV1(), Webhooks: c.clients.typed.AdmissionregistrationV1(), ClientCA: ca, SigningKey: c.security.signingKey, APIServerID: c.generic.APIServerID,
	})
	if err != nil {
		return err
	}
	c.security.authentication = applied
	authenticateControllers(c)
	c.follow(applied.Config)
	return nil
}

func buildAuthorization(_ context.Context, c *Config) error {
	built, err := c.options.Authorization.Build(c.life, c.clients.informers, c.generic.APIServerID)
	if err != nil {
		return err
	}
	c.follow(built.Config)
	c.generic.Authorization.Authorizer, c.generic.RuleResolver = built.Authorizer, built.RuleResolver
	// The check of privilege escalation is on in all modes, because another authorizer may use the roles. It reads roles
	// by requests: the informers of the authorizer may lag behind writes.
	c.security.escalation = rbac.NewEscalationChecker(rbac.FromClient(c.clients.typed.RbacV1()), built.Authorizer).Check
	return nil
}

func buildAudit(_ context.Context, c *Config) error { return audit.Apply(c.options.Audit, c.generic) }
