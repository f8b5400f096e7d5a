package aggregation

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/miniapi-dev/miniapi/pkg/controllers/work"
)

// with returns an Aggregator with one other server, and the remoteAPI of that server. The Aggregator hasn't sent a
// request to the server yet.
func with(t *testing.T, writer Writer) (*Aggregator, *remoteAPI) {
	t.Helper()
	a := &Aggregator{life: t.Context(), runner: work.NewRunner(t.Context())}
	t.Cleanup(a.runner.Close)
	a.local = local{apiServices: cache.NewStore(cache.MetaNamespaceKeyFunc), writer: writer}
	a.SetOwn(nil, func() []*apiregistrationv1.APIService { return nil })
	a.local.keptAt.Store(-1)
	a.listing = newListing(t.Context(), aggregated.NewResourceManager("apis"), a.runner, func() {})
	r := newRemote(a, &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1.example.com"},
		Spec:       apiregistrationv1.APIServiceSpec{Group: "example.com", Version: "v1", Service: &apiregistrationv1.ServiceReference{}},
	})
	a.remotes.replace(r.gv, r)
	a.listing.set(r.gv, r)
	return a, r
}

func TestHandler(t *testing.T) {
	t.Parallel()
	next := http.NotFoundHandler()
	for _, test := range []struct {
		path, reason string
		remote       bool
	}{
		{"/apis/example.com/v1", "the path is the discovery document of the remote API", true},
		{"/apis/example.com/v1/namespaces/n/things/t", "the path is below the path of the remote API", true},
		{"/apis/example.com/v2", "no server has the version", false},
		{"/apis//example.com/v1/things", "the request is authorized as a request for the core group", false},
		{"/apisexample.com/v1/things", "the path isn't below /apis", false},
		{"/api/v1/namespaces", "this server serves the core group", false},
		{"/healthz", "this server serves paths that aren't APIs", false},
	} {
		a, r := with(t, nil)
		_, isRemote := a.handler(httptest.NewRequest(http.MethodGet, test.path, http.NoBody), next).(*remoteAPI)
		if isRemote != test.remote {
			t.Errorf("%s goes to %s: %v, want %v: %s", test.path, r.service.Name, isRemote, test.remote, test.reason)
		}
	}
}

// TestListOfGroups checks that a request for the list of groups waits for the resources of a new server, for at most
// settleTimeout.
func TestListOfGroups(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason  string
		answers, want time.Duration
	}{
		{"soon", "the list has the resources of the new server", time.Second, time.Second},
		{"never", "the list must not wait longer, because it has other groups too", time.Hour, settleTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a, r := with(t, nil)
				time.AfterFunc(test.answers, func() {
					a.listing.answered(r.gv, apidiscoveryv2.APIVersionDiscovery{Version: r.gv.Version})
				})
				begin := time.Now() // the clock is the fake one of package synctest
				var took time.Duration
				a.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { took = time.Since(begin) })).
					ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/apis", http.NoBody))
				if took != test.want {
					t.Errorf("it waited for %v, want %v: %s", took, test.want, test.reason)
				}
			})
		})
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	a, _ := with(t, nil)
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	a.SetOwn([]*apiregistrationv1.APIService{BuiltIn(apps, 1, 1)}, a.local.custom)
	edited := BuiltIn(apps, 1, 1)
	edited.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: "n", Name: "s"}
	a.observe(edited)
	if r := a.remotes.of(apps); r != nil {
		t.Errorf("%s goes to %s, want it to stay what is built in", apps, r.service.Spec.Service.Name)
	}
}

// blocked is a Writer. Each create waits until the test closes release.
type blocked struct{ writes, release chan struct{} }

func (b *blocked) CreateAPIService(context.Context, *apiregistrationv1.APIService) error {
	b.writes <- struct{}{}
	<-b.release
	return nil
}

func (b *blocked) UpdateAPIService(context.Context, *apiregistrationv1.APIService, *apiregistrationv1.APIService) error {
	return nil
}

func (b *blocked) DeleteAPIService(context.Context, string) error { return nil }

// TestCustomChangedDoesntWait checks that CustomChanged returns before APIServices are written. Its caller handles
// events of CustomResourceDefinitions, and the write may wait for a later event.
func TestCustomChangedDoesntWait(t *testing.T) {
	t.Parallel()
	writer := &blocked{make(chan struct{}, 1), make(chan struct{})}
	a, _ := with(t, writer)
	a.SetOwn(nil, func() []*apiregistrationv1.APIService {
		return []*apiregistrationv1.APIService{Custom(schema.GroupVersion{Group: "a", Version: "v1"})}
	})
	a.local.used.Store(true)
	a.CustomChanged()
	<-writer.writes
	a.CustomChanged()
	close(writer.release)
	<-writer.writes
	a.runner.Close()
}
