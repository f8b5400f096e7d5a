package server

import (
	"context"
	"time"

	"github.com/google/uuid"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/miniapi-dev/miniapi/pkg/controllers"
	"github.com/miniapi-dev/miniapi/pkg/controllers/quota"
	controlled "github.com/miniapi-dev/miniapi/pkg/controllers/served"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
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

// authenticateControllers makes a token for each user of the controllers, such as a service account. So audit, webhooks
// and authorization get the same users as with a kube-controller-manager.
func authenticateControllers(c *Config) {
	if !c.options.Controllers.Any() {
		return
	}
	c.security.tokens = map[string]string{}
	users := map[string]*user.DefaultInfo{}
	add := func(u *user.DefaultInfo) {
		token := uuid.NewString()
		c.security.tokens[u.Name] = token
		u.UID = uuid.NewString()
		u.Groups = append(u.Groups, user.AllAuthenticated)
		users[token] = u
	}
	for _, name := range controllers.Users() {
		info := &user.DefaultInfo{Name: name}
		if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
			info.Groups = serviceaccount.MakeGroupNames(namespace)
		}
		add(info)
	}
	authentication := &c.generic.Authentication
	authentication.Authenticator = union.New(authenticatorfactory.NewFromTokens(users, authentication.APIAudiences), authentication.Authenticator)
}

// buildControllers makes the controllers. startControllers starts them.
func buildControllers(c *Config) error {
	if !c.options.Controllers.Any() {
		return nil
	}
	meter, err := quotausage.NewMeter(controllerConfig(c, controllers.Username(quota.Account)), c.clients.mapper)
	if err != nil {
		return err
	}
	env := controllers.Environment{
		ConfigOf:  func(user string) *rest.Config { return controllerConfig(c, user) },
		Discovery: c.clients.typed.Discovery(),
		Mapper:    c.clients.mapper,
		Informers: c.clients.informers,
		Elsewhere: c.apis.elsewhere,
		RootCA:    servingCA(c),
		Token:     c.security.authentication.Tokens.LegacyToken,
		Sign:      c.security.authority.ClientFor,
		Measure:   meter.Measure,
		Shared:    !c.etcd.Embedded(),
	}
	if c.etcd.Embedded() && c.options.Etcd.EncryptionProviderConfigFilepath == "" && len(c.options.etcdLocations) == 0 {
		c.stored = storedmetadata.New(c.etcd.Member().Keys(), c.etcd.Root(), builtin.Table().StoragePrefixes())
		env.Objects = c.stored
		env.Count = c.count
	}
	set, err := controllers.New(c.following, c.options.Controllers, env)
	if err != nil {
		return err
	}
	c.clients.controllers.Store(set)
	return nil
}

// controllerConfig returns the client configuration of a controller. The requests of the controller stay in the
// process. Clients of built-in types use protobuf.
func controllerConfig(c *Config, user string) *rest.Config {
	config := rest.CopyConfig(c.generic.LoopbackClientConfig)
	config.BearerToken = c.security.tokens[user]
	config.UserAgent = controllersUserAgent
	return config
}

// count returns the number of stored objects of a resource. The second result is false if another server stores the
// objects, or if counting fails.
func (c *Config) count(ctx context.Context, resource controlled.Resource, namespace string) (int64, bool) {
	if elsewhere := c.apis.elsewhere(); elsewhere != nil && elsewhere(resource) {
		return 0, false
	}
	n, err := c.stored.Count(ctx, resource.GroupResource(), namespace)
	return n, err == nil
}

// startControllers starts the controllers. With an embedded etcd, it returns when they have done the work for all
// stored objects, such as the objects that every namespace has, or after settleTimeout. With an external etcd, it
// doesn't wait, because the controllers of another server may do this work.
func startControllers(ctx context.Context, c *Config) error {
	set := c.clients.controllers.Load()
	if set == nil {
		return nil
	}
	if err := set.Start(); err != nil {
		return err
	}
	if !c.etcd.Embedded() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := set.Settle(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "the controllers have not finished the work of their start, and continue")
	}
	return nil
}

// hold interrupts the controllers, and the aggregator's checks of other servers, until release is called.
func (c *Config) hold() (release func()) {
	releaseOthers := c.apis.hold()
	set := c.clients.controllers.Load()
	if set == nil {
		return releaseOthers
	}
	releaseControllers := set.Hold()
	return func() {
		defer releaseOthers()
		ctx, cancel := context.WithTimeout(c.following, settleTimeout)
		defer cancel()
		if err := releaseControllers(ctx); err != nil && c.following.Err() == nil {
			klog.FromContext(ctx).Error(err, "the controllers may not know all restored objects yet")
		}
	}
}

// leaveControllers gives up the controllers' Lease, so that the controllers of another server with the same etcd begin
// at once.
func leaveControllers(c *Config) {
	set := c.clients.controllers.Load()
	if set == nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.life, leaveTimeout)
	defer cancel()
	set.Leave(ctx)
}

// closeControllers stops the controllers, and returns when they have ended.
func closeControllers(c *Config) {
	set := c.clients.controllers.Load()
	if set == nil {
		return
	}
	c.unfollow()
	set.Close()
	if c.stored != nil {
		c.stored.Wait()
	}
}
