package aggregation

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilwebhook "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// Resource is the resource apiservices in apiregistration.k8s.io/v1.
var Resource = apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")

const apiServicesPath = genericapiserver.APIGroupPrefix + "/" + apiregistrationv1.GroupName + "/v1/apiservices"

// Config has the parts of the server that an Aggregator needs. All fields but Redirects and Tracer are required.
type Config struct {
	// APIServices is the informer of the stored APIServices. The server must answer a write of an APIService only after
	// the informer's handlers have been called with the write.
	APIServices cache.SharedIndexInformer
	// Client updates the status of APIServices.
	Client apiregistrationclient.APIServicesGetter
	// Writer writes the APIServices of this server's own APIs.
	Writer Writer
	// Services finds the address of a Service.
	Services utilwebhook.ServiceResolver
	// ServiceInformers are the informers of Services and of their endpoints.
	ServiceInformers []cache.SharedIndexInformer
	// Identity returns the client certificate of this server. Because of the certificate, other servers trust the name
	// of the user in a request. Without a certificate, requests still name the user, but other servers may ignore the
	// name.
	Identity func(context.Context) (cert, key []byte, err error)
	// Dial connects to other servers. The connections are closed when this server stops.
	Dial *transport.DialHolder
	// Redirects makes the proxy pass redirects of other servers on to clients. Otherwise the proxy answers a redirect
	// with an error.
	Redirects bool
	// Tracer traces the requests of clients that the proxy passes on. If it is nil, the other server gets the trace header
	// of the client's request.
	Tracer trace.TracerProvider

	// Serializer encodes the errors that the proxy returns to clients.
	Serializer runtime.NegotiatedSerializer
	// Discovery lists the resources of group versions in /apis.
	Discovery aggregated.ResourceManager
	// OpenAPI stores the documents that /openapi/v3 lists.
	OpenAPI Documents
	// Changed is called when the discovered resources change.
	Changed func()
}

// Documents stores the OpenAPI documents of group versions. The name of a document is apis/GROUP/VERSION.
type Documents interface {
	UpdateGroupVersion(name string, document *spec3.OpenAPI)
	DeleteGroupVersion(name string)
}

// Aggregator serves the APIs that APIServices name.
type Aggregator struct {
	config  Config
	local   local
	listing *listing
	// runner runs the goroutines of the Aggregator, and the checks of other servers. Hold interrupts the checks.
	runner *work.Runner
	// life ends when the Aggregator and all its goroutines must end.
	life context.Context
	// followed is done when the Aggregator knows the APIServices that were stored before its start.
	followed cache.DoneChecker

	remotes remotes
	// swaggersWanted is true after the first request for /openapi/v2.
	swaggersWanted atomic.Bool
}

// New returns an Aggregator. The Aggregator follows APIServices from the start of their informer until life ends.
func New(life context.Context, config Config) (*Aggregator, error) {
	a := &Aggregator{config: config, life: life, runner: work.NewRunner(life)}
	a.local = local{apiServices: config.APIServices.GetStore(), writer: config.Writer}
	a.local.keptAt.Store(-1)
	a.listing = newListing(life, config.Discovery, a.runner, config.Changed)
	registration, err := config.APIServices.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.observe(obj.(*apiregistrationv1.APIService)) },
		UpdateFunc: func(_, obj any) { a.observe(obj.(*apiregistrationv1.APIService)) },
		DeleteFunc: a.observeDeletion,
	})
	if err != nil {
		return nil, err
	}
	a.followed = registration.HasSyncedChecker()
	return a, a.followServices()
}

// Start starts the informer of APIServices, and returns before the informer has listed them.
func (a *Aggregator) Start() {
	a.runner.Go(func() { a.config.APIServices.RunWithContext(a.life) })
}

// Wait returns after the life of the Aggregator and all its goroutines have ended.
func (a *Aggregator) Wait() {
	<-a.life.Done()
	a.runner.Close()
}

// Remote returns the APIServices of group versions that other servers serve.
func (a *Aggregator) Remote() []*apiregistrationv1.APIService {
	var services []*apiregistrationv1.APIService
	for _, r := range a.remotes.all() {
		services = append(services, r.service)
	}
	return services
}

// observe handles a new or changed APIService.
func (a *Aggregator) observe(s *apiregistrationv1.APIService) {
	a.changed(s)
	gv := groupVersionOf(s)
	if known := a.remotes.of(gv); known != nil && known.serves(s) {
		known.observe(s)
		return
	}
	if s.Spec.Service == nil || a.local.builtInHas(gv) { // requests for the version aren't passed on
		a.replace(gv, nil)
		return
	}
	r := newRemote(a, s)
	a.replace(gv, r)
	a.listing.refresh(r)
	a.runner.Go(r.run)
}

func (a *Aggregator) observeDeletion(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = unknown.Obj
	}
	if s, ok := obj.(*apiregistrationv1.APIService); ok {
		a.local.deleted()
		a.replace(groupVersionOf(s), nil)
	}
}

// replace sets the remoteAPI that serves a group version. A nil remoteAPI removes the present one.
func (a *Aggregator) replace(gv schema.GroupVersion, r *remoteAPI) {
	known := a.remotes.replace(gv, r)
	a.listing.set(gv, r)
	if known != nil {
		known.end()
	}
	if known != nil || r != nil {
		a.config.Changed()
	}
}

func groupVersionOf(s *apiregistrationv1.APIService) schema.GroupVersion {
	return schema.GroupVersion{Group: s.Spec.Group, Version: s.Spec.Version}
}

// Handler serves the APIs of other servers, and passes other requests to next. Before a client's request for
// APIServices, Handler writes the APIServices of this server's own APIs, unless the stored ones are up to date.
func (a *Aggregator) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasPrefix(req.URL.Path, apiServicesPath) && !byServer(req) {
			a.local.use(a.life)
		}
		a.handler(req, next).ServeHTTP(w, req)
	})
}

func (a *Aggregator) handler(req *http.Request, next http.Handler) http.Handler {
	if a.remotes.none() {
		return next
	}
	if req.URL.Path == swaggerPath && !byAggregator(req) {
		ctx, cancel := context.WithTimeout(req.Context(), settleTimeout)
		defer cancel()
		a.readSwaggers(ctx)
	}
	path, ok := strings.CutPrefix(req.URL.Path, genericapiserver.APIGroupPrefix)
	if !ok || path != "" && path[0] != '/' {
		return next
	}
	// Cut only one slash: a user who is authorized for /apis//GROUP/VERSION isn't authorized for paths below
	// /apis/GROUP/VERSION.
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
	if len(parts) > 1 {
		if r := a.remotes.of(schema.GroupVersion{Group: parts[0], Version: parts[1]}); r != nil {
			return r
		}
		return next
	}
	if parts[0] == "" && !byServer(req) { // the client expects the groups of new servers in the list
		ctx, cancel := context.WithTimeout(req.Context(), settleTimeout)
		defer cancel()
		a.listing.settle(ctx)
	}
	return next
}

// byServer tells whether this server itself makes the request. The server's own requests don't wait for the answers of
// other servers, because otherwise this server and another server could wait for each other.
func byServer(req *http.Request) bool {
	asking, ok := request.UserFrom(req.Context())
	return ok && asking.GetName() == user.APIServerUser
}
