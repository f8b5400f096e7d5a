package aggregation

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

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
)

// Resource is that of APIServices.
var Resource = apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")

const apiServicesPath = genericapiserver.APIGroupPrefix + "/" + apiregistrationv1.GroupName + "/v1/apiservices"

// Config is what an Aggregator needs of the server around it. All of it is required, but Redirects.
type Config struct {
	// APIServices informs of what is stored, before a write of it is answered.
	APIServices cache.SharedIndexInformer
	// Client writes what was found out about a server to the status of its APIService.
	Client apiregistrationclient.APIServicesGetter
	// Writer writes the APIServices of this server's own APIs.
	Writer Writer
	// Services finds the server behind a Service.
	Services utilwebhook.ServiceResolver
	// ServiceInformers inform of Services and of their endpoints.
	ServiceInformers []cache.SharedIndexInformer
	// Identity is the client certificate by which other servers trust what they are told of who asks; without
	// one they are told, and needn't believe it.
	Identity func(context.Context) (cert, key []byte, err error)
	// Dial connects to other servers. What it returns is closed at the end of this one.
	Dial *transport.DialHolder
	// Redirects are passed on to clients.
	Redirects bool

	// Serializer writes errors.
	Serializer runtime.NegotiatedSerializer
	// Discovery has the resources of group versions in /apis.
	Discovery aggregated.ResourceManager
	// OpenAPI has the documents of /openapi/v3.
	OpenAPI Documents
	// Changed is called when others are discovered than before.
	Changed func()
}

// Documents describe group versions, each by a name such as apis/GROUP/VERSION.
type Documents interface {
	UpdateGroupVersion(name string, document *spec3.OpenAPI)
	DeleteGroupVersion(name string)
}

// Aggregator serves what APIServices say.
type Aggregator struct {
	config  Config
	local   local
	checks  *checks
	listing *listing
	// life is when it ends with all that it runs.
	life context.Context

	remotes remotes

	mu      sync.Mutex // held to begin
	running sync.WaitGroup
}

// New returns an Aggregator that follows APIServices once their informer is started, and until life ends.
func New(life context.Context, config Config) (*Aggregator, error) {
	a := &Aggregator{config: config, life: life, checks: newChecks()}
	a.local = local{apiServices: config.APIServices.GetStore(), writer: config.Writer}
	a.local.keptAt.Store(-1)
	a.listing = newListing(life, config.Discovery, a.checks, a.begin, config.Changed)
	_, err := config.APIServices.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { a.observe(obj.(*apiregistrationv1.APIService)) },
		UpdateFunc: func(_, obj any) { a.observe(obj.(*apiregistrationv1.APIService)) },
		DeleteFunc: a.observeDeletion,
	})
	return a, errors.Join(err, a.followServices())
}

// Start starts the informer. It doesn't wait for its first list.
func (a *Aggregator) Start() {
	a.begin(func() { a.config.APIServices.RunWithContext(a.life) })
}

// begin runs something in the background, unless life has ended.
func (a *Aggregator) begin(work func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life.Err() == nil {
		a.running.Go(work)
	}
}

// Wait returns, after the end of life, when all that runs has ended.
func (a *Aggregator) Wait() {
	<-a.life.Done()
	func() {
		a.mu.Lock() // after which nothing begins
		defer a.mu.Unlock()
	}()
	a.running.Wait()
}

// Remote are the APIServices that other servers serve.
func (a *Aggregator) Remote() []*apiregistrationv1.APIService {
	var services []*apiregistrationv1.APIService
	for _, r := range a.remotes.all() {
		services = append(services, r.service)
	}
	return services
}

// observe is told of an APIService that is new or has changed.
func (a *Aggregator) observe(s *apiregistrationv1.APIService) {
	a.changed(s)
	gv := groupVersionOf(s)
	if known := a.remotes.of(gv); known != nil && known.serves(s) {
		known.observe(s)
		return
	}
	if s.Spec.Service == nil || a.local.builtInHas(gv) { // which stays this server's
		a.replace(gv, nil)
		return
	}
	r := newRemote(a.life, &a.config, a.checks, a.listing, s)
	a.replace(gv, r)
	a.listing.refresh(r)
	a.begin(r.run)
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

// replace makes a remote the one of a group version, or nothing.
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

// Handler serves what other servers have, and passes other requests on. The APIServices of this server are there before
// those that look for APIServices.
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
	path, ok := strings.CutPrefix(req.URL.Path, genericapiserver.APIGroupPrefix)
	if !ok || path != "" && path[0] != '/' {
		return next
	}
	// One slash and no more: who is authorized for /apis//GROUP/VERSION isn't for what is below /apis/GROUP/VERSION.
	parts := strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
	if len(parts) > 1 {
		if r := a.remotes.of(schema.GroupVersion{Group: parts[0], Version: parts[1]}); r != nil {
			return r
		}
		return next
	}
	if parts[0] == "" && !byServer(req) { // the list of groups has what each of them serves
		ctx, cancel := context.WithTimeout(req.Context(), settleTimeout)
		defer cancel()
		a.listing.settle(ctx)
	}
	return next
}

// byServer says whether a request is the server's own, which can't wait for what the server finds out by others.
func byServer(req *http.Request) bool {
	asking, ok := request.UserFrom(req.Context())
	return ok && asking.GetName() == user.APIServerUser
}
