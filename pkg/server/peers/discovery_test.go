package peers

import (
	"net/http"
	"net/http/httptest"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apiserver/pkg/util/peerproxy"
)

// onePeer is a proxy with a peer.
type onePeer struct{ peerproxy.Interface }

func (onePeer) GetPeerResources() map[string][]apidiscoveryv2.APIGroupDiscovery {
	return map[string][]apidiscoveryv2.APIGroupDiscovery{"peer": nil}
}

// cachingHandler is a handler of discovery with a cache. It calls collected between the collection of the resources and
// the filling of its cache.
type cachingHandler struct {
	collected func()
	cached    bool
}

func (h *cachingHandler) InvalidateCache() { h.cached = false }

func (h *cachingHandler) ServeHTTP(http.ResponseWriter, *http.Request) {
	if !h.cached {
		h.collected()
		h.cached = true
	}
}

// A change of the resources while discovery collects them must not leave a cache with the old resources, because the
// cache would stay until the next change.
func TestChangeDuringDiscovery(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, reason string
		changes      bool
		cached       bool
	}{
		{"change", "the cache may have the resources from before the change", true, false},
		{"no change", "the cache has the present resources", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			handler := &cachingHandler{}
			p := &Peers{proxy: onePeer{}, discovery: handler}
			handler.collected = func() {
				if test.changes {
					p.DiscoveryChanged()
				}
			}
			p.Discovery().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/apis", http.NoBody))
			if handler.cached != test.cached {
				t.Errorf("cached: %t, want %t: %s", handler.cached, test.cached, test.reason)
			}
		})
	}
}
