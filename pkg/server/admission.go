package server

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/miniapi-dev/miniapi/pkg/admission"
)

func (c *Config) buildAdmission(context.Context) error {
	loopback := c.generic.LoopbackClientConfig
	// What custom resources there are changes while the server runs: the barrier of
	// their definitions resets the mapper.
	c.restMapper = restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(c.client.Discovery()))
	chain, err := admission.New(c.options.Admission, admission.Dependencies{
		Client:           c.client,
		DynamicClient:    c.dynamicClient,
		Informers:        c.informers,
		Authorizer:       c.generic.Authorization.Authorizer,
		RESTMapper:       c.restMapper,
		FeatureGates:     c.generic.FeatureGate,
		EffectiveVersion: c.generic.EffectiveVersion,
		ServerID:         c.generic.APIServerID,
		TypeConverter:    schemas().TypeConverter(),
		Definition:       c.customResources.Definition,
		Loopback:         loopback,
		ServiceCA:        c.authority.CA(),
		Dial:             c.webhookConnections.dial,
		Drained:          c.life.Done(),
		TracerProvider:   c.tracer(),
	})
	if err != nil {
		return fmt.Errorf("admission: %w", err)
	}
	c.generic.AdmissionControl = chain
	// Webhooks that convert custom resources are reached as those of admission are.
	c.services = admission.NewServiceResolver(c.options.Admission.Services, c.client, c.informers)
	c.webhookAuth = admission.NewWebhookAuthentication(c.options.Admission.Services, c.authority.CA(), loopback, c.webhookConnections.dial, c.tracer())
	return nil
}

// tracer is nil unless requests are traced.
func (c *Config) tracer() trace.TracerProvider {
	if c.options.Tracing.ConfigFile == "" {
		return nil
	}
	return c.generic.TracerProvider
}
