package trial

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/miniapi-dev/miniapi/pkg/conformance/incluster"
	"github.com/miniapi-dev/miniapi/pkg/conformance/webhookserver"
)

// Options are the settings for the connections between the suite and a server, in both directions.
type Options struct {
	// Config is the client configuration for the suite's requests.
	Config *rest.Config
	// WebhookAddress is the HOST:PORT at which the suite's webhooks listen. The API server must be able to connect to
	// it. The default is a free port of the loopback address, for a server on the same machine.
	WebhookAddress string
	// WebhookImage is an image of the program miniapi. If it is set, the suite creates a Deployment and a Service in
	// the cluster, which forward the calls of webhooks to the suite, and WebhookAddress must be empty. The default is
	// none.
	WebhookImage string
	// WebhookTimeout limits the time until the Deployment is ready. The default is incluster.DefaultTimeout.
	WebhookTimeout time.Duration
	// WrapWebhooks wraps the handler of all webhooks. Tests of the suite change reviews in the wrapper.
	WrapWebhooks func(http.Handler) http.Handler
	// AuditLog is the file of the server's audit log, with one event in JSON on each line. Without it, the cases that
	// need audit events are skipped.
	AuditLog string
	// Disposable says that the server has no other users. Without it, the cases that could harm other users are
	// skipped.
	Disposable bool
	// Patience is the longest time between two removals of empty namespaces by the server's controllers, at the end of
	// the run. If the controllers remove no namespace in this time, the run removes the finalizers of the remaining
	// empty namespaces. 0 stands for DefaultPatience. For a server without controllers, a shorter time makes the run
	// shorter.
	Patience time.Duration
}

// DefaultPatience is the default of Options.Patience.
const DefaultPatience = 3 * time.Second

// Server is the API server that the suite checks.
type Server struct {
	// Major and Minor are the server's version of Kubernetes.
	Major, Minor int
	// Resources are the resources and subresources of discovery, sorted by group, version and name.
	Resources []Resource

	options Options
	http    *http.Client
	base    *url.URL
	hooks   *webhookserver.Listener
	// inCluster is nil if the server calls webhooks at a URL.
	inCluster *incluster.Webhooks
	// user is the name of the client's user, or "" if the server doesn't serve SelfSubjectReviews.
	user string
	// run is a text that is different for each run. It is part of the names of objects.
	run    string
	number atomic.Int64
	// filled are the namespaces whose objects Close removes.
	filled []string

	// context is the context of Connect. Work that the first case starts for all cases needs a context that outlives
	// this case.
	context   context.Context
	ready     sync.Once
	metrics   sync.Once
	noMetrics string
	// called is true when the server has called a webhook that shows whether a configuration is in effect. unreached
	// is the last answer to a request whose configuration wasn't in effect in time, or nil.
	called    atomic.Bool
	unreached atomic.Pointer[string]
	// findWay calls wayByService for the first case that needs a Service. The result is in way.
	findWay sync.Once
	way     serviceWay
}

// These are the labels of the objects that a suite creates, and the prefix of object names.
const (
	// LabelRun is a label of every cluster-scoped object that the suite creates. Its value identifies the run.
	LabelRun = "conformance.miniapi.dev/run"
	// LabelCase is a label of every object and namespace of a case.
	LabelCase = "conformance.miniapi.dev/case"
	// LabelReady is a label of the objects that show whether a configuration is in effect, and of their namespace.
	LabelReady = "conformance.miniapi.dev/ready"
	// Prefix is the beginning of the names of namespaces, and of most other cluster-scoped objects.
	Prefix = "conformance-"
)

// Connect requests the version and the resources of the server, and the name of the client's user. The webhooks of
// cases don't listen before Listen is called.
func Connect(ctx context.Context, o Options) (*Server, error) {
	config := rest.CopyConfig(o.Config)
	config.QPS = -1
	if config.UserAgent == "" {
		config.UserAgent = "conformance"
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration of %s: %w", config.Host, err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("client configuration of %s: %w", config.Host, err)
	}
	asked, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("client configuration of %s: %w", config.Host, err)
	}
	s := &Server{context: ctx, options: o, http: client, base: base, run: strings.ToLower(rand.Text()[:6])}
	if err := s.discover(ctx, asked); err != nil {
		return nil, fmt.Errorf("server %s: %w", config.Host, err)
	}
	if _, tells := s.Find(SelfReviews); tells {
		self, err := s.do(ctx, Request{Verb: http.MethodPost, Path: SelfReviews.path("", ""), Body: Object{"apiVersion": SelfReviews.GroupVersion(), "kind": SelfReviews.Kind}})
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", config.Host, err)
		}
		s.user = self.Object.Text("status.userInfo.username")
	}
	return s, nil
}

// discover sets the version and the resources. It leaves out a group whose aggregated server doesn't answer, because
// the suite checks only this server.
func (s *Server) discover(ctx context.Context, client *discovery.DiscoveryClient) error {
	type answer struct {
		err error
	}
	done := make(chan answer, 1)
	go func() { done <- answer{s.ask(client)} }()
	select {
	case a := <-done:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Server) ask(client *discovery.DiscoveryClient) error {
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	digits := strings.TrimRightFunc(version.Minor, func(r rune) bool { return r < '0' || r > '9' })
	// A minor version that isn't a number counts as 0, so cases that need a later version are skipped.
	s.Major, _ = strconv.Atoi(version.Major)
	s.Minor, _ = strconv.Atoi(digits)
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return err
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return fmt.Errorf("discovery: %w", err)
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			name, sub, _ := strings.Cut(r.Name, "/")
			resource := Resource{Group: gv.Group, Version: gv.Version, Name: name, Subresource: sub, Kind: r.Kind, Namespaced: r.Namespaced, Verbs: r.Verbs}
			if r.Version != "" {
				resource.KindGroup, resource.KindVersion = r.Group, r.Version
			}
			s.Resources = append(s.Resources, resource)
		}
	}
	slices.SortStableFunc(s.Resources, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Subresource, b.Subresource))
	})
	return nil
}

// Find returns a resource as discovery describes it, and whether the server serves the resource.
func (s *Server) Find(wanted Resource) (Resource, bool) {
	i := slices.IndexFunc(s.Resources, func(r Resource) bool {
		return r.Group == wanted.Group && r.Version == wanted.Version && r.Name == wanted.Name && r.Subresource == wanted.Subresource
	})
	if i < 0 {
		return Resource{}, false
	}
	return s.Resources[i], true
}
