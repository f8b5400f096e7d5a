package authz

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizationmetrics "k8s.io/apiserver/pkg/authorization/metrics"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/client-go/informers"

	"github.com/miniapi-dev/miniapi/pkg/server/authz/abac"
	"github.com/miniapi-dev/miniapi/pkg/server/authz/nodeauthorizer"
	"github.com/miniapi-dev/miniapi/pkg/server/authz/rbacauthorizer"
	"github.com/miniapi-dev/miniapi/pkg/server/bootstrap"
	"github.com/miniapi-dev/miniapi/pkg/server/reload"
)

// Authorization decides whether a user may make a request, and lists the requests that a user may make.
type Authorization struct {
	// Authorizer decides on a request.
	Authorizer authorizer.Authorizer
	// RuleResolver lists the rules of a user, for SelfSubjectRulesReviews.
	RuleResolver authorizer.RuleResolver
	// Modes are the modes of --authorization-mode or of the file of --authorization-config. A changed file must have
	// the same modes, except for Webhook.
	Modes []string
	// Config is the file of --authorization-config, or nil without one. The caller must call Config.Follow, which reads
	// the file again when the file changes.
	Config *reload.File
}

// ruledAuthorizer decides on requests and lists rules, as every authorizer of this package does.
type ruledAuthorizer interface {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// Build makes the authorizer. The argument "shared" makes the informers that the modes need: roles and bindings for
// RBAC; pods, volumes and further resources for Node. The caller starts the informers after Build, and serves requests
// only after they have synced. Connections to webhooks end with ctx, which must last as long as the server. The metrics
// name the server by apiServerID.
func (o *Options) Build(ctx context.Context, shared informers.SharedInformerFactory, apiServerID string) (*Authorization, error) {
	config, data, err := o.configuration()
	if err != nil {
		return nil, err
	}
	built := &Authorization{}
	builtIn := chain{}
	for _, configured := range config.Authorizers {
		built.Modes = append(built.Modes, string(configured.Type))
		if configured.Type != ModeWebhook {
			if builtIn[configured.Type], err = o.build(configured, shared); err != nil {
				return nil, err
			}
		}
	}
	first, end, err := builtIn.with(ctx, config)
	if err != nil {
		return nil, err
	}
	built.Authorizer, built.RuleResolver = first, first
	if o.ConfigFile != "" {
		current := &reloaded{reload.NewCurrent[ruledAuthorizer](first, end)}
		built.Authorizer, built.RuleResolver = current, current
		built.Config = o.follow(ctx, data, builtIn, current, apiServerID)
	}
	return built, nil
}

// chain has the authorizers of all configured modes but Webhook, by type. A change of the configuration file doesn't
// replace them.
type chain map[apiserver.AuthorizerType]ruledAuthorizer

// united is one authorizer that joins several authorizers.
type united struct {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// with joins the authorizers of the chain in the order of a configuration, and adds the configuration's webhooks. The
// function "end" closes the connections to these webhooks.
func (c chain) with(ctx context.Context, config *apiserver.AuthorizationConfiguration) (_ ruledAuthorizer, end context.CancelFunc, err error) {
	open, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	// Members of system:masters may do everything in every mode. As in kube-apiserver, there are no metrics of the
	// authorizer for them.
	authorizers := []union.NamedAuthorizer{{
		AuthorizerName: "system:masters", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup),
	}}
	var resolvers []authorizer.RuleResolver
	for _, configured := range config.Authorizers {
		one := c[configured.Type]
		if configured.Type == ModeWebhook {
			if one, err = newWebhook(open, configured); err != nil {
				return nil, nil, err
			}
		}
		authorizers = append(authorizers, union.NamedAuthorizer{
			AuthorizerName: configured.Name,
			Authorizer:     authorizationmetrics.InstrumentedAuthorizer(string(configured.Type), configured.Name, one),
		})
		resolvers = append(resolvers, one)
	}
	all, err := union.New(authorizers...)
	if err != nil {
		return nil, nil, fmt.Errorf("uniting the authorizers: %w", err)
	}
	return united{all, union.NewRuleResolvers(resolvers...)}, cancel, nil
}

func (o *Options) build(configured apiserver.AuthorizerConfiguration, shared informers.SharedInformerFactory) (ruledAuthorizer, error) {
	switch mode := string(configured.Type); mode {
	case ModeAlwaysAllow:
		return authorizerfactory.NewAlwaysAllowAuthorizer(), nil
	case ModeAlwaysDeny:
		return authorizerfactory.NewAlwaysDenyAuthorizer(), nil
	case ModeRBAC:
		return rbacauthorizer.New(rbacauthorizer.FromInformers(shared.Rbac().V1())), nil
	case ModeNode:
		return nodeauthorizer.New(shared, bootstrap.NodeRules()), nil
	case ModeABAC:
		a, err := abac.NewFromFile(o.PolicyFile)
		if err != nil {
			return nil, fmt.Errorf("--authorization-policy-file: %w", err)
		}
		return a, nil
	default:
		return nil, fmt.Errorf("authorizer %s: unknown mode %q", configured.Name, mode)
	}
}
