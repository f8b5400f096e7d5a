package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/metadata"
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

// controllerUsers authenticates the users of the controllers, such as service accounts. So audit, webhooks and
// authorization get the same users as in a cluster.
type controllerUsers struct {
	mu     sync.Mutex
	tokens map[string]string // by user name
	users  map[string]user.Info
}

// authenticateControllers adds the users of the controllers to the authentication of requests.
func authenticateControllers(info *genericapiserver.AuthenticationInfo) *controllerUsers {
	u := &controllerUsers{tokens: map[string]string{}, users: map[string]user.Info{}}
	tokens := bearertoken.New(authenticator.WrapAudienceAgnosticToken(info.APIAudiences, u))
	info.Authenticator = union.New(tokens, info.Authenticator)
	return u
}

// token returns the bearer token of a user.
func (u *controllerUsers) token(name string) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	token, ok := u.tokens[name]
	if !ok {
		token = uuid.NewString()
		u.tokens[name] = token
		u.users[token] = &user.DefaultInfo{Name: name, UID: uuid.NewString(), Groups: groupsOf(name)}
	}
	return token
}

// groupsOf returns the groups that a cluster gives to a user whose name is that of a service account or of a node. A node
// may make any request, because --authorization-mode may leave out the authorizer of nodes.
func groupsOf(name string) []string {
	var groups []string
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
		groups = serviceaccount.MakeGroupNames(namespace)
	} else if strings.HasPrefix(name, nodeUserPrefix) {
		groups = []string{user.NodesGroup, user.SystemPrivilegedGroup}
	}
	return append(groups, user.AllAuthenticated)
}

// nodeUserPrefix begins the user names of kubelets.
const nodeUserPrefix = "system:node:"

// AuthenticateToken implements authenticator.Token.
func (u *controllerUsers) AuthenticateToken(_ context.Context, token string) (*authenticator.Response, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	known, ok := u.users[token]
	if !ok {
		return nil, false, nil
	}
	return &authenticator.Response{User: known}, true, nil
}

// controlled are the controllers of a server. The zero value stands for a server without controllers.
type controlled struct{ set *controllers.Set }

// newControllers makes the controllers that the options select. The method start starts them.
func newControllers(c *Config) (controlled, error) {
	if !c.options.runsControllers() {
		return controlled{}, nil
	}
	meter, err := quotausage.NewMeter(controllerConfig(c, controllers.Username(quota.Account)), c.clients.mapper)
	if err != nil {
		return controlled{}, err
	}
	env := controllers.Environment{
		ConfigOf:   func(user string) *rest.Config { return controllerConfig(c, user) },
		Discovery:  c.clients.typed.Discovery(),
		Mapper:     c.clients.mapper,
		Informers:  c.clients.informers,
		Elsewhere:  c.served.elsewhere,
		Address:    c.endpoint.localAddress(),
		RootCA:     c.keys.servingCA(c.generic.SecureServing),
		Token:      c.authentication.Tokens.LegacyToken,
		Sign:       c.keys.authority.ClientFor,
		Measure:    meter.Measure,
		Shared:     !c.etcd.Embedded(),
		CatchUp:    func(ctx context.Context) error { return catchUp(ctx, c) },
		Components: c.options.Components,
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

// catchUp returns when the informers have the objects that are stored at the call. Other servers may have stored them.
func catchUp(ctx context.Context, c *Config) error {
	client, err := metadata.NewForConfig(c.generic.LoopbackClientConfig)
	if err != nil {
		return err
	}
	for _, resource := range c.clients.informers.Resources() {
		gvr, err := c.clients.mapper.ResourceFor(resource.WithVersion(""))
		if meta.IsNoMatchError(err) {
			continue // the resource isn't served, so its informer has no objects
		} else if err != nil {
			return err
		}
		list, err := client.Resource(gvr).List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource, err)
		}
		for i := range list.Items {
			if err := c.clients.informers.Barrier().Await(ctx, resource, &list.Items[i]); err != nil {
				return fmt.Errorf("waiting until the informers have %s: %w", resource, err)
			}
		}
	}
	return nil
}

// controllerConfig returns the client configuration of a controller. The requests of the controller stay in the
// process. Clients of built-in types use protobuf.
func controllerConfig(c *Config, user string) *rest.Config {
	config := rest.CopyConfig(c.generic.LoopbackClientConfig)
	config.BearerToken = c.authentication.controllers.token(user)
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
