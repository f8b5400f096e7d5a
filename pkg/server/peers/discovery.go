package peers

import "net/http"

// Discovery serves aggregated discovery of the resources of this server and its peers. It returns nil if the server
// passes no request on.
func (p *Peers) Discovery() http.Handler {
	if p.discovery == nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if len(p.proxy.GetPeerResources()) == 0 { // the library's handler doesn't notice that there are no peers any more
			p.config.Discovery.ServeHTTP(w, req)
			return
		}
		before := p.changes.Load()
		p.discovery.ServeHTTP(w, req)
		if p.changes.Load() != before {
			// The library's handler may have collected the resources before the change, and filled its cache after it.
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
	// A request may fill the cache at the same time. Discovery compares the counter after it has filled the cache, and
	// drops the cache if the counter has changed. Otherwise the cache was filled earlier, and InvalidateCache drops it.
	p.changes.Add(1)
	p.discovery.InvalidateCache()
}
