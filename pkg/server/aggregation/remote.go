package aggregation

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

const (
	// settleTimeout limits the time for which a request for the list of groups, or for /openapi/v2, waits for the
	// answers of new servers.
	settleTimeout = 2 * time.Second
	// stopTimeout limits the time for which a stop of this server waits for the other server's answers to requests in
	// progress.
	stopTimeout = time.Second
)

// remoteAPI is a group version that another server serves. A goroutine checks the server until the remoteAPI ends.
type remoteAPI struct {
	config  *Config
	service *apiregistrationv1.APIService
	gv      schema.GroupVersion

	// life ends when this server stops. ctx ends when the remoteAPI ends.
	life, ctx context.Context
	cancel    context.CancelFunc

	server  *endpoint
	runner  *work.Runner
	listing *listing

	// available is true if the last check succeeded. The channel "again" starts a check at once when it gets a
	// value.
	available atomic.Bool
	again     chan struct{}
	// checked is true after the first check. The method run alone uses it.
	checked bool

	// swagger is the part of the other server's /openapi/v2 that describes the API.
	swagger swagger

	mu sync.Mutex
	// described is true if /openapi/v3 has the document of the API.
	described bool
}

func newRemote(a *Aggregator, s *apiregistrationv1.APIService) *remoteAPI {
	r := &remoteAPI{
		config: &a.config, service: s, gv: groupVersionOf(s), life: a.life, runner: a.runner, listing: a.listing,
		again: make(chan struct{}, 1),
	}
	r.swagger.wanted = &a.swaggersWanted
	r.ctx, r.cancel = context.WithCancel(a.life)
	r.server = &endpoint{config: &a.config, service: s, life: r.ctx}
	return r
}

// serves tells whether the remoteAPI was made for an APIService with the same UID and the same spec.
func (r *remoteAPI) serves(s *apiregistrationv1.APIService) bool {
	return r.service.UID == s.UID && apiequality.Semantic.DeepEqual(r.service.Spec, s.Spec)
}

// end stops the checks of the server, and removes the API's document from /openapi/v3.
func (r *remoteAPI) end() {
	r.cancel()
	r.swagger.settled.Set(true)
	r.undescribe()
}

// observe handles a change of the APIService. If the last check succeeded, but the status lacks the condition
// Available, observe starts a check, which writes the condition again. For example, a client has written another status
// or restored an old one.
func (r *remoteAPI) observe(s *apiregistrationv1.APIService) {
	if r.available.Load() && !helper.IsAPIServiceConditionTrue(s, apiregistrationv1.Available) {
		r.checkSoon()
	}
}

// remotes has the group versions that other servers serve. The zero value is empty.
type remotes struct {
	mu        sync.RWMutex
	byVersion map[schema.GroupVersion]*remoteAPI
}

// replace sets the remoteAPI of a group version, and returns the previous one. A nil remoteAPI removes the previous
// one.
func (r *remotes) replace(gv schema.GroupVersion, with *remoteAPI) (known *remoteAPI) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known = r.byVersion[gv]
	switch {
	case with == nil:
		delete(r.byVersion, gv)
	case r.byVersion == nil:
		r.byVersion = map[schema.GroupVersion]*remoteAPI{gv: with}
	default:
		r.byVersion[gv] = with
	}
	return known
}

// of returns the remoteAPI of a group version, or nil if no other server serves the version.
func (r *remotes) of(gv schema.GroupVersion) *remoteAPI {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byVersion[gv]
}

func (r *remotes) all() []*remoteAPI {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Collect(maps.Values(r.byVersion))
}

func (r *remotes) none() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.byVersion) == 0
}
