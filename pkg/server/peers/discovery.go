package peers

import "net/http"

// Discovery serves aggregated discovery of the resources of this server and its peers. It returns nil if the server
// passes no request on.
func (p *Peers) Discovery() http.Handler {
	if p.discovery == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if len(p.proxy.GetPeerResources()) == 0 { // p.discovery doesn't notice that there are no peers any more
			p.config.Discovery.ServeHTTP(w, req)
			return
		}
		before := p.changes.Load()
		p.discovery.ServeHTTP(w, req)
		if p.changes.Load() != before {
			// p.discovery may have collected the resources before the change, and filled its cache after the change.
			p.discovery.InvalidateCache()
		}
	})
}

// DiscoveryChanged must be called when the resources of this server have changed, if Config.Discovery doesn't report
// the change. Discovery then drops its cache.
func (p *Peers) DiscoveryChanged() {
	if p.discovery == nil {
		return
	}
	// InvalidateCache drops a cache that was filled before. The counter is for a request that fills the cache at the
	// same time: the handler of Discovery drops the cache if the counter has changed during the request.
	p.changes.Add(1)
	p.discovery.InvalidateCache()
}
