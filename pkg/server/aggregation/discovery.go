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
)

// listing keeps in discovery what other servers have. The library's manager asks the servers for their aggregated
// discovery, or for a document of each group version where they have none, and asks them again every minute. The
// manager starts with the first server.
type listing struct {
	target  aggregated.ResourceManager
	changed func()
	checks  *checks
	manager func() kubeaggregator.DiscoveryAggregationController

	mu   sync.Mutex
	apis map[schema.GroupVersion]*listedAPI
	// asked are the questions under way. The manager asks one at a time for each group version.
	asked map[schema.GroupVersion]question
}

// listedAPI is what discovery has of a group version.
type listedAPI struct {
	remote  *remoteAPI
	version apidiscoveryv2.APIVersionDiscovery
	// round counts how often the manager was told that the server has to be asked.
	round int
	// settled says that discovery has the answer of the last round.
	settled condition.Variable[bool]
}

// question is a request of the manager for what a server has.
type question struct {
	remote *remoteAPI
	round  int
	// broken says that the request was ended before the server could answer.
	broken bool
}

// newListing returns a listing in the target, that begins the manager and calls changed when discovery changes.
func newListing(life context.Context, target aggregated.ResourceManager, checks *checks, begin func(func()), changed func()) *listing {
	l := &listing{
		target: target, changed: changed, checks: checks,
		apis: map[schema.GroupVersion]*listedAPI{}, asked: map[schema.GroupVersion]question{},
	}
	l.manager = sync.OnceValue(func() kubeaggregator.DiscoveryAggregationController {
		manager := kubeaggregator.NewDiscoveryManager(managerTarget{target, l})
		started := make(chan struct{})
		begin(func() { manager.Run(life.Done(), started) })
		select {
		case <-started: // with no server, so that each is asked by the manager's queue alone
		case <-life.Done():
		}
		return manager
	})
	return l
}

// set makes a remote the one that has a group version. The version is stale until the server has answered. With nil,
// the version isn't listed any more.
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

// refresh has the manager ask a server, before the manager would by itself.
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

// settle returns when discovery has what the servers have answered to all that they were asked, or ctx ends.
func (l *listing) settle(ctx context.Context) {
	l.mu.Lock()
	asked := slices.Collect(maps.Values(l.apis))
	l.mu.Unlock()
	for _, listed := range asked {
		_ = listed.settled.Wait(ctx, func(settled bool) bool { return settled })
	}
}

// asking is how the manager reaches a server. As in kube-apiserver, a server is asked whatever the last check found.
func (l *listing) asking(r *remoteAPI) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		l.note(r, false)
		ctx, done := l.checks.begin(r.ctx)
		defer done()
		asked, cancel := context.WithCancel(req.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		r.pass(w, req.WithContext(asked))
		if ctx.Err() != nil {
			l.note(r, true)
		}
	})
}

// note notes a question of the manager.
func (l *listing) note(r *remoteAPI, broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := question{remote: r, broken: broken}
	if listed := l.apis[r.gv]; listed != nil {
		q.round = listed.round
	}
	l.asked[r.gv] = q
}

// answered lists what the manager has found out, unless it asked a server that the group version had before.
func (l *listing) answered(gv schema.GroupVersion, version apidiscoveryv2.APIVersionDiscovery) {
	l.mu.Lock()
	listed := l.apis[gv]
	q, isAnswer := l.asked[gv] // else the manager had the answer of another group version of the server
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

// list makes discovery have a version of a remote, and says whether that is news.
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

// managerTarget is where the manager lists what it finds out. What isn't found out, the listing does itself.
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
