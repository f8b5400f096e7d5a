package server

import (
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// groupHandler serves the registry's groups behind the server's filters, and passes
// other requests on. In the library's own mux each path takes a stack trace and a copy
// of the table, a third of a start, and each request is compared with all of them.
type groupHandler struct {
	next   http.Handler
	served *atomic.Pointer[installed]
}

// buildHandlerChain is the library's, with the groups before its own mux.
func (c *Config) buildHandlerChain(next http.Handler, config *genericapiserver.Config) http.Handler {
	served := c.withPeers(c.withAggregator(&groupHandler{c.crdBarrier.settled(c.groupList.documents(next)), &c.groups}))
	if wrap := c.options.WrapHandler; wrap != nil {
		served = wrap(served)
	}
	c.listener.longRunning = func(req *http.Request) bool {
		info, err := config.RequestInfoResolver.NewRequestInfo(req)
		return err == nil && config.LongRunningFunc(req, info)
	}
	return c.logRequests(c.listener.serving(genericapiserver.DefaultBuildHandlerChain(served, config)), config)
}

func (g *groupHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	handler := g.next
	if served := g.served.Load(); served != nil {
		if h := served.handler(req.URL.Path); h != nil {
			handler = h
		}
	}
	handler.ServeHTTP(w, req)
}

// handler is what serves a path, nil if it is nothing of the registry's.
func (i *installed) handler(path string) http.Handler {
	if strings.TrimSuffix(path, "/") == genericapiserver.DefaultLegacyAPIPrefix {
		return i.legacy
	}
	if v, ok := i.versions[groupVersionOf(path)]; ok {
		return v
	}
	return nil
}

// groupVersionOf is what a path is below: /api/VERSION or /apis/GROUP/VERSION.
func groupVersionOf(path string) schema.GroupVersion {
	if rest, ok := strings.CutPrefix(path, genericapiserver.DefaultLegacyAPIPrefix+"/"); ok {
		version, _, _ := strings.Cut(rest, "/")
		return schema.GroupVersion{Version: version}
	}
	rest, ok := strings.CutPrefix(path, genericapiserver.APIGroupPrefix+"/")
	if !ok {
		return schema.GroupVersion{}
	}
	group, rest, _ := strings.Cut(rest, "/")
	version, _, _ := strings.Cut(rest, "/")
	return schema.GroupVersion{Group: group, Version: version}
}

// ListedPaths implements routes.ListedPathProvider.
func (i *installed) ListedPaths() []string {
	paths := []string{genericapiserver.DefaultLegacyAPIPrefix}
	for _, v := range i.versions {
		paths = append(paths, v.root)
	}
	return paths
}
