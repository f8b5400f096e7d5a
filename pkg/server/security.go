package server

import (
	"crypto"
	"slices"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/miniapi-dev/miniapi/pkg/registry/rbac"
	"github.com/miniapi-dev/miniapi/pkg/server/authn"
	"github.com/miniapi-dev/miniapi/pkg/server/authz/rbacauthorizer"
	"github.com/miniapi-dev/miniapi/pkg/server/etcd"
	"github.com/miniapi-dev/miniapi/pkg/server/frontproxy"
	"github.com/miniapi-dev/miniapi/pkg/server/pki"
)

// serverKeys are the keys that the server makes for itself, or reads from its folder for keys.
type serverKeys struct {
	authority *pki.Authority
	// signing signs service account tokens. It is nil if --service-account-signing-key-file names another key.
	signing crypto.Signer
	// frontProxy issues the certificate by which the server calls aggregated APIs. It is nil if flags name the authority of
	// such certificates, or if an external etcd would outlive it.
	frontProxy *frontproxy.Authority
}

func newServerKeys(o CompletedOptions, store *etcd.Etcd) (keys serverKeys, err error) {
	own := o.ownKeys()
	if keys.authority, err = own.Authority(); err != nil {
		return serverKeys{}, err
	}
	if o.Authentication.ServiceAccounts.SigningKeyFile == "" {
		if keys.signing, err = own.SigningKey(); err != nil {
			return serverKeys{}, err
		}
	}
	if o.Authentication.RequestHeader.ClientCAFile != "" || o.ProxyClientCertFile != "" || !o.isCluster() {
		return keys, nil
	}
	if !store.Embedded() && own.Store == nil {
		return keys, nil // each start would leave another authority in the etcd
	}
	authority, err := own.FrontProxy()
	if err != nil {
		return serverKeys{}, err
	}
	keys.frontProxy, err = frontproxy.NewAuthority(authority)
	return keys, err
}

// servingCA returns the certificates by which clients verify the server: the server's own authority, and before it the
// serving certificate if another authority has issued it.
func (k serverKeys) servingCA(serving *genericapiserver.SecureServingInfo) []byte {
	shown, _ := serving.Cert.CurrentCertKeyContent()
	if k.authority.HasIssued(shown) {
		return k.authority.CA()
	}
	return append(slices.Clone(shown), k.authority.CA()...)
}

// authenticated is what authentication gives to other parts of the server.
type authenticated struct {
	*authn.Applied
	// controllers has the users of the controllers. It is nil if no controllers run.
	controllers *controllerUsers
}

// authenticate configures the authentication of requests, by the options and by the tokens of the controllers.
func authenticate(o CompletedOptions, generic *genericapiserver.Config, clients *clients, keys serverKeys, l *lifetime) (authenticated, error) {
	ca, err := dynamiccertificates.NewStaticCAContent("miniapi", keys.authority.CA())
	if err != nil {
		return authenticated{}, err
	}
	applied, err := o.Authentication.ApplyTo(l.life, &generic.Authentication, generic.SecureServing, authn.Environment{
		Client: clients.typed.CoreV1(), Webhooks: clients.typed.AdmissionregistrationV1(), ClientCA: ca,
		SigningKey: keys.signing, APIServerID: generic.APIServerID,
	})
	if err != nil {
		return authenticated{}, err
	}
	l.follow(applied.Config)
	if !o.runsControllers() {
		return authenticated{Applied: applied}, nil
	}
	return authenticated{applied, authenticateControllers(&generic.Authentication)}, nil
}

// authorize configures the authorization of requests. It returns the check of the writes of roles that grant more than
// the user may do. The check is on in all modes, because another authorizer may use the roles.
func authorize(o CompletedOptions, generic *genericapiserver.Config, clients *clients, l *lifetime) (rbac.Escalation, error) {
	built, err := o.Authorization.Build(l.life, clients.informers, generic.APIServerID)
	if err != nil {
		return nil, err
	}
	l.follow(built.Config)
	generic.Authorization.Authorizer, generic.RuleResolver = built.Authorizer, built.RuleResolver
	// The check reads roles by requests: the informers of the authorizer may lag behind writes.
	return rbacauthorizer.NewEscalationChecker(rbacauthorizer.FromClient(clients.typed.RbacV1()), built.Authorizer).Check, nil
}
