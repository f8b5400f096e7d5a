package server

import (
	"context"
	"time"

	"github.com/google/uuid"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/controllers/quota"
	objects "github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/server/quotausage"
	"github.com/miniapi-dev/miniapi/pkg/server/storedmetadata"
)

// controllersUserAgent is the User-Agent of the controllers. It makes kube-controller-manager the manager of the fields
// that they write.
const controllersUserAgent = "kube-controller-manager/miniapi"

// settleTimeout limits two waits for the controllers. A start waits until they have done the work for all stored
// objects. A restore of a snapshot waits until they know the restored objects.
const settleTimeout = 10 * time.Second

// leaveTimeout limits the time in which a stop gives up the controllers' Lease. Only the server with this Lease runs
// the controllers of an etcd. If giving up fails, another server waits until the Lease expires.
const leaveTimeout = 5 * time.Second

// authenticateControllers makes a token for each user of the controllers, such as a service account, and returns the
// tokens by user name. So audit, webhooks and authorization get the same users as with a kube-controller-manager.
func authenticateControllers(info *genericapiserver.AuthenticationInfo) map[string]string {
	tokens := map[string]string{}
	users := map[string]*user.DefaultInfo{}
	for _, name := range controllers.Users() {
		token := uuid.NewString()
		tokens[name] = token
		u := &user.DefaultInfo{Name: name, UID: uuid.NewString()}
		if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
			u.Groups = serviceaccount.MakeGroupNames(namespace)
		}
		u.Groups = append(u.Groups, user.AllAuthenticated)
		users[token] = u
	}
	info.Authenticator = union.New(authenticatorfactory.NewFromTokens(users, info.APIAudiences), info.Authenticator)
	return tokens
}

// controlled are the controllers of a server. The zero value stands for a server without controllers.
type controlled struct{ set *controllers.Set }

// newControllers makes the controllers that the options select. The method start starts them.
func newControllers(c *Config) (controlled, error) {
	if !c.options.Controllers.Any() {
		return controlled{}, nil
	}
	meter, err := quotausage.NewMeter(controllerConfig(c, controllers.Username(quota.Account)), c.clients.mapper)
	if err != nil {
		return controlled{}, err
	}
	env := controllers.Environment{
		ConfigOf:  func(user string) *rest.Config { return controllerConfig(c, user) },
		Discovery: c.clients.typed.Discovery(),
		Mapper:    c.clients.mapper,
		Informers: c.clients.informers,
		Elsewhere: c.served.elsewhere,
		RootCA:    c.keys.servingCA(c.generic.SecureServing),
		Token:     c.authentication.Tokens.LegacyToken,
		Sign:      c.keys.authority.ClientFor,
		Measure:   meter.Measure,
		Shared:    !c.etcd.Embedded(),
	}
	// With an external etcd, with encryption, or with --etcd-servers-overrides, the controllers use informers.
	if c.etcd.Embedded() && c.options.Etcd.EncryptionProviderConfigFilepath == "" && len(c.options.etcdLocations) == 0 {
		stored := storedmetadata.New(c.etcd.Member().Keys(), c.etcd.Root(), c.options.Table.StoragePrefixes())
		c.waitFor(stored.Wait)
		env.Objects = stored
		env.Count = func(ctx context.Context, resource objects.Resource, namespace string) (int64, bool) {
			if elsewhere := c.served.elsewhere(); elsewhere != nil && elsewhere(resource) {
				return 0, false
			}
			n, err := stored.Count(ctx, resource.GroupResource(), namespace)
			return n, err == nil
		}
	}
	set, err := controllers.New(c.following, c.options.Controllers, env)
	if err != nil {
		return controlled{}, err
	}
	c.waitFor(set.Close)
	return controlled{set}, nil
}

// controllerConfig returns the client configuration of a controller. The requests of the controller stay in the
// process. Clients of built-in types use protobuf.
func controllerConfig(c *Config, user string) *rest.Config {
	config := rest.CopyConfig(c.generic.LoopbackClientConfig)
	config.BearerToken = c.authentication.tokens[user]
	config.UserAgent = controllersUserAgent
	return config
}

// resourcesChanged makes the controllers find changed resources.
func (c controlled) resourcesChanged() {
	if c.set != nil {
		c.set.ResourcesChanged()
	}
}

// start starts the controllers. With an etcd of this server alone, it returns when they have done the work for all
// stored objects, such as the objects that every namespace has, or after settleTimeout. With an external etcd, it
// doesn't wait, because the controllers of another server may do this work.
func (c controlled) start(ctx context.Context, alone bool) error {
	if c.set == nil {
		return nil
	}
	if err := c.set.Start(); err != nil || !alone {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := c.set.Settle(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "the controllers have not finished the work of their start, and continue")
	}
	return nil
}

// hold interrupts the controllers until release is called. When ctx ends, release no longer waits for them.
func (c controlled) hold(ctx context.Context) (release func()) {
	if c.set == nil {
		return func() {}
	}
	releaseControllers := c.set.Hold()
	return func() {
		limited, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		if err := releaseControllers(limited); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "the controllers may not know all restored objects yet")
		}
	}
}

// leave gives up the controllers' Lease, so that the controllers of another server with the same etcd begin at once.
func (c controlled) leave(ctx context.Context) {
	if c.set == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	c.set.Leave(ctx)
}
