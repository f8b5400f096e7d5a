package aggregation

import (
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/tools/cache"
)

// AddChecks adds kube-apiserver's health checks of its aggregation layer to the server. The argument "custom" is done
// when the Aggregator has the APIServices of the stored custom resource definitions.
//
// kube-apiserver has a controller for each check. Here, several checks stand for one step of the Aggregator.
func (a *Aggregator) AddChecks(server *genericapiserver.GenericAPIServer, custom cache.DoneChecker) error {
	for _, hook := range []struct {
		name  string
		after cache.DoneChecker
	}{
		{"start-kube-aggregator-informers", a.config.APIServices.HasSyncedChecker()},
		// When an APIService is known, requests are passed on to its server, the server is in discovery, and a
		// goroutine requests the server's OpenAPI documents and writes the status of the APIService.
		{"apiservice-registration-controller", a.followed},
		{"apiservice-discovery-controller", a.followed},
		{"apiservice-openapi-controller", a.followed},
		{"apiservice-openapiv3-controller", a.followed},
		{"apiservice-status-remote-available-controller", a.followed},
		// When the step custom is done, the Aggregator has the APIServices of all of this server's own APIs. Their
		// condition Available is true from the beginning, so the second hook waits for nothing else.
		{"kube-apiserver-autoregistration", custom},
		{"apiservice-status-local-available-controller", custom},
	} {
		if err := server.AddPostStartHook(hook.name, waitFor(hook.after)); err != nil {
			return err
		}
	}
	// This server writes the APIServices of its own APIs at the first request for APIServices. Before that request, the
	// check succeeds.
	return server.AddHealthChecks(healthz.NamedCheck("autoregister-completion", func(*http.Request) error { return a.local.unwritten() }))
}

// waitFor returns a hook that ends when a step is done. The health check of the hook fails until then.
func waitFor(step cache.DoneChecker) genericapiserver.PostStartHookFunc {
	return func(ctx genericapiserver.PostStartHookContext) error {
		cache.WaitFor(ctx, "", step)
		return nil
	}
}
