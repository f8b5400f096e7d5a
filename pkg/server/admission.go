package server

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/admission/webhook"
	"github.com/miniapi-dev/miniapi/pkg/registry/builtin"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/requestlog"
	"github.com/miniapi-dev/miniapi/pkg/server/webhooktokens"
)

func buildAdmission(_ context.Context, c *Config) error {
	loopback, tracer := c.generic.LoopbackClientConfig, tracer(c)
	var tokens webhook.TokenSource
	if c.generic.FeatureGate.Enabled(features.APIServerWebhookAuthenticationToken) {
		configurations := c.clients.informers.Admissionregistration().V1()
		c.security.webhookTokens = &webhooktokens.Tokens{
			Accounts:   c.clients.typed.CoreV1(),
			Issuer:     c.security.authentication.Tokens,
			Validating: configurations.ValidatingWebhookConfigurations().Lister(),
			Mutating:   configurations.MutatingWebhookConfigurations().Lister(),
			Life:       c.life,
		}
		tokens = c.security.webhookTokens
	}
	chain, err := admission.New(c.options.Admission, admission.Dependencies{
		Client:           c.clients.typed,
		DynamicClient:    c.clients.dynamic,
		Informers:        c.clients.informers,
		Authorizer:       c.generic.Authorization.Authorizer,
		RESTMapper:       c.clients.mapper,
		FeatureGates:     c.options.globals.Gates(),
		EffectiveVersion: c.generic.EffectiveVersion,
		ServerID:         c.generic.APIServerID,
		TypeConverter:    shared.schemas().TypeConverter(),
		Definition:       c.apis.customResources.Definition,
		Loopback:         loopback,
		ServiceCA:        c.CA(),
		Dial:             c.connections.Dial,
		WebhookTokens:    tokens,
		Drained:          c.life.Done(),
		TracerProvider:   tracer,
		Explain:          c.options.AdmissionTrace.Explain(),
	})
	if err != nil {
		return fmt.Errorf("making the admission chain: %w", err)
	}
	c.generic.AdmissionControl = chain
	// Other parts of the server find and authenticate webhooks in the same way as admission does: conversion webhooks,
	// for example, and runtime hooks.
	addresses := c.options.Admission.Services
	c.security.services = services.NewResolver(addresses, c.clients.typed, c.clients.informers)
	c.security.webhookAuth = services.NewAuthentication(addresses, c.CA(), loopback, c.connections.Dial, tracer)
	return nil
}

func buildTrace(_ context.Context, c *Config) error {
	c.trace = admissiontrace.New(admissiontrace.Config{
		Recorder:       c.options.AdmissionTrace.Recorder(),
		Following:      c.following,
		Serializer:     c.generic.Serializer,
		Decoder:        builtin.Table().Codecs().UniversalDeserializer(),
		RequestInfo:    genericapiserver.NewRequestInfoResolver(c.generic),
		Mapper:         c.clients.mapper,
		Configurations: c.clients.typed.AdmissionregistrationV1(),
		Authorizer:     c.generic.Authorization.Authorizer,
		Discovery:      c.clients.typed.Discovery(),
		Equivalents:    func() runtime.EquivalentResourceMapper { return c.generic.EquivalentResourceRegistry },
		Hides: func(plugin string, resource schema.GroupResource) bool {
			return admission.Hides(c.options.globals.Gates(), plugin, resource)
		},
		Runs: c.options.Admission.Runs,
	})
	authenticator := c.trace.Authenticator(c.generic.Authentication.Authenticator)
	if c.options.LogRequest != nil { // the log also gets the users that c.trace.Authenticator finds
		authenticator = requestlog.Authenticator{Request: authenticator}
	}
	c.generic.Authentication.Authenticator = authenticator
	return nil
}

// tracer returns the provider of OpenTelemetry traces, or nil if requests aren't traced.
func tracer(c *Config) trace.TracerProvider {
	if c.options.Tracing.ConfigFile == "" {
		return nil
	}
	return c.generic.TracerProvider
}
