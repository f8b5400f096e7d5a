package aggregation

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	kubeaggregator "k8s.io/kube-aggregator/pkg/apiserver"
	informers "k8s.io/kube-aggregator/pkg/client/informers/externalversions/apiregistration/v1"
)

// scripted is a discovery manager that sends a request only when a test calls ask.
type scripted struct {
	kubeaggregator.DiscoveryAggregationController
	added, removed []string
	asking         http.Handler
}

func (s *scripted) AddAPIService(service *apiregistrationv1.APIService, asking http.Handler) {
	s.added, s.asking = append(s.added, service.Name), asking
}

func (s *scripted) RemoveAPIService(name string) { s.removed = append(s.removed, name) }

// ask sends the discovery manager's request to the server that the last call of AddAPIService added.
func (s *scripted) ask() {
	s.asking.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/apis", http.NoBody))
}

// listingOf returns an Aggregator with one other server, the remoteAPI of that server, and the Aggregator's discovery
// manager, to which the server has been added.
func listingOf(t *testing.T) (*Aggregator, *remoteAPI, *scripted) {
	t.Helper()
	a, r := with(t, nil)
	manager := &scripted{}
	a.listing.manager = func() kubeaggregator.DiscoveryAggregationController { return manager }
	a.listing.refresh(r)
	return a, r, manager
}

// another returns a remoteAPI that replaces r as the server of the group version.
func another(t *testing.T, a *Aggregator, r *remoteAPI) *remoteAPI {
	t.Helper()
	next := newRemote(a, r.service.DeepCopy())
	a.listing.set(r.gv, next)
	return next
}

func version(resource string) apidiscoveryv2.APIVersionDiscovery {
	return apidiscoveryv2.APIVersionDiscovery{
		Version: "v1", Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
		Resources: []apidiscoveryv2.APIResourceDiscovery{{Resource: resource}},
	}
}

// TestAnswers checks the answers of other servers to the requests of the discovery manager. Discovery takes an answer
// only from the server that serves the group version now. The field settled is true for answers that a client's request
// for the list of groups needn't wait for any longer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	unknown := apidiscoveryv2.APIVersionDiscovery{Version: "v1", Freshness: apidiscoveryv2.DiscoveryFreshnessStale}
	for _, test := range []struct {
		name, reason string
		happens      func(*testing.T, *Aggregator, *remoteAPI, *scripted)
		want         []apidiscoveryv2.APIVersionDiscovery
		settled      bool
	}{
		{"nothing", "the resources of the server aren't known before an answer",
			func(*testing.T, *Aggregator, *remoteAPI, *scripted) {}, []apidiscoveryv2.APIVersionDiscovery{unknown},
			false},
		{"answer", "an answer has the resources of the server", func(_ *testing.T, a *Aggregator, r *remoteAPI, m *scripted) {
			m.ask()
			a.listing.answered(r.gv, version("hammers"))
		}, []apidiscoveryv2.APIVersionDiscovery{version("hammers")}, true},
		{"answer of another group version", "the manager uses one answer for all group versions of a server", func(_ *testing.T, a *Aggregator, r *remoteAPI, _ *scripted) {
			a.listing.answered(r.gv, version("hammers"))
		}, []apidiscoveryv2.APIVersionDiscovery{version("hammers")}, true},
		{"answer to an earlier question", "refresh has made the manager request the discovery again", func(_ *testing.T, a *Aggregator, r *remoteAPI, m *scripted) {
			m.ask()
			a.listing.refresh(r)
			a.listing.answered(r.gv, version("hammers"))
		}, []apidiscoveryv2.APIVersionDiscovery{version("hammers")}, false},
		{"question after an answer", "the answer may be old", func(_ *testing.T, a *Aggregator, r *remoteAPI, m *scripted) {
			m.ask()
			a.listing.answered(r.gv, version("hammers"))
			a.listing.refresh(r)
		}, []apidiscoveryv2.APIVersionDiscovery{version("hammers")}, false},
		{"late answer of the server before", "another server serves the group version now", func(t *testing.T, a *Aggregator, r *remoteAPI, m *scripted) {
			t.Helper()
			m.ask()
			next := another(t, a, r)
			a.listing.refresh(next)
			a.listing.answered(r.gv, version("hammers"))
		}, []apidiscoveryv2.APIVersionDiscovery{unknown}, false},
		{"late question to the server before", "the manager began the request before another server replaced the server", func(t *testing.T, a *Aggregator, r *remoteAPI, m *scripted) {
			t.Helper()
			another(t, a, r)
			m.ask()
			a.listing.answered(r.gv, version("hammers"))
		}, []apidiscoveryv2.APIVersionDiscovery{unknown}, false},
		{"answer after the end", "the APIService is gone", func(_ *testing.T, a *Aggregator, r *remoteAPI, m *scripted) {
			m.ask()
			a.listing.set(r.gv, nil)
			a.listing.answered(r.gv, version("hammers"))
		}, nil, true},
		{"broken question", "this server has ended the request, so the result isn't an answer", func(_ *testing.T, a *Aggregator, r *remoteAPI, _ *scripted) {
			a.listing.note(r, true)
			a.listing.answered(r.gv, unknown)
		}, []apidiscoveryv2.APIVersionDiscovery{unknown}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, r, manager := listingOf(t)
			a.listing.mu.Lock()
			listed := a.listing.apis[r.gv]
			a.listing.mu.Unlock()
			test.happens(t, a, r, manager)
			a.listing.mu.Lock()
			if now := a.listing.apis[r.gv]; now != nil {
				listed = now
			}
			a.listing.mu.Unlock()
			listed.settled.Read(func(settled bool) {
				if settled != test.settled {
					t.Errorf("the list waits for the server: %t, want %t: %s", !settled, !test.settled, test.reason)
				}
			})
			if diff := cmp.Diff(test.want, listedVersions(t, a)); diff != "" {
				t.Errorf("%s: -want +got\n%s", test.reason, diff)
			}
		})
	}
}

// TestBrokenQuestion checks that the discovery manager has to repeat a request that this server has interrupted.
func TestBrokenQuestion(t *testing.T) {
	t.Parallel()
	a, r, manager := listingOf(t)
	a.listing.note(r, true)
	before := len(manager.added)
	a.listing.answered(r.gv, version("hammers"))
	if len(manager.added) != before+1 {
		t.Errorf("the manager was told of %v, want once more", manager.added)
	}
}

// TestRefreshAfterCheck checks that discovery is requested again after the first check of a server, and after a check with
// another result. The server may have failed since it answered the discovery manager's first request.
func TestRefreshAfterCheck(t *testing.T) {
	t.Parallel()
	a, r, manager := listingOf(t)
	a.config.APIServices = informers.NewAPIServiceInformer(nil, 0, cache.Indexers{})
	a.config.Services = somewhere{}
	a.config.Identity = func(context.Context) (cert, key []byte, err error) { return nil, nil, errors.New("no certificate") }
	backoff := retries()
	for _, want := range []int{2, 2} { // the first request is that of listingOf
		r.ask(&backoff)
		if got := len(manager.added); got != want {
			t.Errorf("the manager was told of the server %d times, want %d", got, want)
		}
	}
}

// listedVersions returns the versions of the test's group in discovery.
func listedVersions(t *testing.T, a *Aggregator) []apidiscoveryv2.APIVersionDiscovery {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/apis", http.NoBody)
	req.Header.Set("Accept", discovery.AcceptV2)
	w := httptest.NewRecorder()
	a.listing.target.ServeHTTP(w, req)
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return list.Items[0].Versions
}
