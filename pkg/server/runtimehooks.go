package server

import (
	"context"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/server/runtimehooks"
)

// buildRuntimeHooks serves the paths of runtime hooks, if --runtime-hooks is set.
func buildRuntimeHooks(c *Config, s *genericapiserver.GenericAPIServer) (err error) {
	if !c.options.RuntimeHooks.Enabled {
		return nil
	}
	c.runtimeHooks, err = runtimehooks.New(runtimehooks.Config{
		Options:     c.options.RuntimeHooks,
		Dynamic:     c.clients.dynamic,
		Kubernetes:  c.clients.typed,
		Services:    c.security.services,
		WebhookAuth: c.security.webhookAuth,
		Observe:     shared.hookMetrics(),
	})
	if err != nil {
		return err
	}
	for path, handler := range c.runtimeHooks.Handlers() {
		s.Handler.NonGoRestfulMux.UnlistedHandle(path, handler)
	}
	return nil
}

// startRuntimeHooks returns when ExtensionConfigs are served. The discovery of extensions continues until a stop of the
// server begins.
func startRuntimeHooks(ctx context.Context, c *Config) error {
	if c.runtimeHooks == nil {
		return nil
	}
	return c.runtimeHooks.Start(ctx, c.following)
}
