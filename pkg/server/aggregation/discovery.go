package aggregation

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	kubeaggregator "k8s.io/kube-aggregator/pkg/apiserver"

	"github.com/miniapi-dev/miniapi/pkg/condition"
	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// listing keeps the resources of other servers in discovery. The manager of the library kube-aggregator requests each
// server's aggregated discovery every minute. If a server doesn't serve aggregated discovery, the manager requests a
// document of each group version. The manager starts when the first APIService names another server.
type listing struct {
	target  aggregated.ResourceManager
	changed func()
	runner  *work.Runner
	manager func() kubeaggregator.DiscoveryAggregationController

	mu   sync.Mutex
	apis map[schema.GroupVersion]*listedAPI
	// asked has the requests in progress of kube-aggregator's discovery manager, at most one for each group
	// version.
	asked map[schema.GroupVersion]question
}

// listedAPI is the entry of a group version in discovery.
type listedAPI struct {
	remote  *remoteAPI
	version apidiscoveryv2.APIVersionDiscovery
	// round is the number of calls of refresh so far.
	round int
	// settled is true when discovery has the answer to the request that the last call of refresh caused.
	settled condition.Variable[bool]
}

// question is a request of kube-aggregator's discovery manager to another server.
type question struct {
	remote *remoteAPI
	round  int
	// broken is true if this server ended the request before the other server could answer.
	broken bool
}

// newListing returns a listing that writes to target. The runner runs kube-aggregator's discovery manager. The listing
// calls the argument "changed" when discovery changes.
func newListing(life context.Context, target aggregated.ResourceManager, runner *work.Runner, changed func()) *listing {
	l := &listing{
		target: target, changed: changed, runner: runner,
		apis: map[schema.GroupVersion]*listedAPI{}, asked: map[schema.GroupVersion]question{},
	}
	l.manager = sync.OnceValue(func() kubeaggregator.DiscoveryAggregationController {
		manager := kubeaggregator.NewDiscoveryManager(managerTarget{target, l})
		started := make(chan struct{})
		runner.Go(func() { manager.Run(life.Done(), started) })
		select {
		case <-started: // the caller adds servers after the start, so the manager handles each server through its queue
		case <-life.Done():
		}
		return manager
	})
	return l
}

// set sets the remoteAPI that serves a group version. Discovery marks the version as stale until the other server has
// answered. A nil remoteAPI removes the version.
func (l *listing) set(gv schema.GroupVersion, r *remoteAPI) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.apis[gv]
	if known != nil {
		known.settled.Set(true)
	}
	if r != nil {
		l.apis[gv] = &listedAPI{remote: r}
		l.list(l.apis[gv], apidiscoveryv2.APIVersionDiscovery{Version: gv.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessStale})
		return
	}
	delete(l.apis, gv)
	if known != nil {
		l.manager().RemoveAPIService(known.remote.service.Name)
		l.target.RemoveGroupVersion(metav1.GroupVersion(gv))
	}
}

// refresh makes the discovery manager request the discovery documents of a server at once.
func (l *listing) refresh(r *remoteAPI) {
	l.mu.Lock()
	defer l.mu.Unlock()
	listed := l.apis[r.gv]
	if listed == nil || listed.remote != r {
		return
	}
	listed.round++
	listed.settled.Set(false)
	l.manager().AddAPIService(r.service, l.asking(r))
}

// settle waits until discovery has the answers to the requests that earlier calls of refresh have caused, or until ctx
// ends.
func (l *listing) settle(ctx context.Context) {
	l.mu.Lock()
	asked := slices.Collect(maps.Values(l.apis))
	l.mu.Unlock()
	for _, listed := range asked {
		_ = listed.settled.Wait(ctx, func(settled bool) bool { return settled })
	}
}

// asking returns the handler through which the discovery manager requests the discovery documents of the other server.
// As in kube-apiserver, the handler sends a request even if the last check of the other server failed. The discovery
// manager limits the time of a request. If this server interrupts a request, the discovery manager repeats the request.
func (l *listing) asking(r *remoteAPI) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		l.note(r, false)
		ctx, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(r.ctx, cancel)()
		interrupted := false
		if err := l.runner.Do(ctx, func(ctx context.Context) error {
			r.pass(w, req.WithContext(ctx))
			interrupted = ctx.Err() != nil
			return nil
		}); err != nil { // ctx has ended before the request could begin
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			interrupted = true
		}
		if interrupted && req.Context().Err() == nil {
			l.note(r, true)
		}
	})
}

// note records a request of the discovery manager to the server. The argument "broken" is true if this server has
// interrupted the request.
func (l *listing) note(r *remoteAPI, broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := question{remote: r, broken: broken}
	if listed := l.apis[r.gv]; listed != nil {
		q.round = listed.round
	}
	l.asked[r.gv] = q
}

// answered puts the discovery manager's result into discovery. It drops the result of a server that no longer serves
// the group version. If this server has interrupted the request, answered makes the manager repeat it.
func (l *listing) answered(gv schema.GroupVersion, version apidiscoveryv2.APIVersionDiscovery) {
	l.mu.Lock()
	listed := l.apis[gv]
	// isAnswer is false if the discovery manager got this result from a request for another group version of the
	// same server.
	q, isAnswer := l.asked[gv]
	delete(l.asked, gv)
	if listed == nil || isAnswer && q.remote != listed.remote {
		l.mu.Unlock()
		return
	}
	if q.broken {
		l.mu.Unlock()
		l.refresh(listed.remote)
		return
	}
	changed := l.list(listed, version)
	if !isAnswer || q.round == listed.round {
		listed.settled.Set(true)
	}
	l.mu.Unlock()
	if changed {
		l.changed()
	}
}

// list puts a version of the remoteAPI into discovery. The result is false if discovery already had the same version.
func (l *listing) list(listed *listedAPI, version apidiscoveryv2.APIVersionDiscovery) bool {
	if reflect.DeepEqual(listed.version, version) {
		return false
	}
	listed.version = version
	gv, spec := listed.remote.gv, listed.remote.service.Spec
	l.target.AddGroupVersion(gv.Group, version)
	l.target.SetGroupVersionPriority(metav1.GroupVersion(gv), int(spec.GroupPriorityMinimum), int(spec.VersionPriority))
	return true
}

// managerTarget receives the results of kube-aggregator's discovery manager. It ignores the manager's priorities and
// removals, because the type listing sets priorities and removes versions itself.
type managerTarget struct {
	aggregated.ResourceManager
	listing *listing
}

// AddGroupVersion implements aggregated.ResourceManager.
func (t managerTarget) AddGroupVersion(group string, version apidiscoveryv2.APIVersionDiscovery) {
	t.listing.answered(schema.GroupVersion{Group: group, Version: version.Version}, version)
}

// SetGroupVersionPriority implements aggregated.ResourceManager.
func (managerTarget) SetGroupVersionPriority(metav1.GroupVersion, int, int) {}

// RemoveGroupVersion implements aggregated.ResourceManager.
func (managerTarget) RemoveGroupVersion(metav1.GroupVersion) {}
