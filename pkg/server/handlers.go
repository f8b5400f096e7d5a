package server

import (
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/server/groups"
)

// buildHandlerChain is the library's, with the groups before its own mux.
func (c *Config) buildHandlerChain(next http.Handler, config *genericapiserver.Config) http.Handler {
	served := c.withPeers(c.withAggregator(groups.Handler{Next: c.customResources.Settled(c.groupList.Documents(next)), Served: &c.groups}))
	if wrap := c.options.WrapHandler; wrap != nil {
		served = wrap(served)
	}
	c.listener.longRunning = func(req *http.Request) bool {
		info, err := config.RequestInfoResolver.NewRequestInfo(req)
		return err == nil && config.LongRunningFunc(req, info)
	}
	return c.logRequests(c.listener.serving(genericapiserver.DefaultBuildHandlerChain(served, config)), config)
}
