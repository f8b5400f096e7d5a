package server

import (
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/miniapi-dev/miniapi/pkg/admission"
	"github.com/miniapi-dev/miniapi/pkg/admission/services"
	"github.com/miniapi-dev/miniapi/pkg/server/admissiontrace"
	"github.com/miniapi-dev/miniapi/pkg/server/customresources"
	"github.com/miniapi-dev/miniapi/pkg/server/outgoing"
	"github.com/miniapi-dev/miniapi/pkg/server/requestlog"
	"github.com/miniapi-dev/miniapi/pkg/server/webhooktokens"
)

// webhooks are the ways to webhooks of all kinds: those of admission, of the conversion of custom resources, and the
// extensions of runtime hooks.
type webhooks struct {
	// services resolves Services to addresses, and authentication authenticates the server.
	services       webhook.ServiceResolver
	authentication webhook.AuthenticationInfoResolverWrapper
	// tokens are the tokens for webhooks of admission. They are nil if their feature gate is off.
	tokens *webhooktokens.Tokens
}

func newWebhooks(o CompletedOptions, generic *genericapiserver.Config, tracer trace.TracerProvider, secured secured, keys serverKeys, connections *outgoing.Connections, l *lifetime) webhooks {
	addresses, clients := o.Admission.Services, secured.cluster
	made := webhooks{
		services:       services.NewResolver(addresses, clients.typed, clients.informers),
		authentication: services.NewAuthentication(addresses, keys.authority.CA(), secured.kubernetes, connections.Dial, tracer),
	}
	if generic.FeatureGate.Enabled(features.APIServerWebhookAuthenticationToken) {
		configurations := clients.informers.Admissionregistration().V1()
		made.tokens = &webhooktokens.Tokens{
			Accounts:   clients.typed.CoreV1(),
			Issuer:     secured.authentication.Tokens,
			Validating: configurations.ValidatingWebhookConfigurations().Lister(),
			Mutating:   configurations.MutatingWebhookConfigurations().Lister(),
			Life:       l.life,
		}
	}
	return made
}

// admit configures the admission of requests.
func admit(o CompletedOptions, generic *genericapiserver.Config, clients *clients, webhooks webhooks, resources *customresources.Resources, l *lifetime) error {
	dependencies := admission.Dependencies{
		Config:           generic.LoopbackClientConfig,
		Client:           clients.typed,
		DynamicClient:    clients.dynamic,
		Informers:        clients.informers,
		Authorizer:       generic.Authorization.Authorizer,
		RESTMapper:       clients.mapper,
		FeatureGates:     o.globals.Gates(),
		EffectiveVersion: generic.EffectiveVersion,
		ServerID:         generic.APIServerID,
		TypeConverter:    shared.schemas(o.Table).TypeConverter().OfResources(),
		Definition:       resources.Definition,
		Foreign:          o.Behind.Enabled(),
		Services:         webhooks.services,
		WebhookAuth:      webhooks.authentication,
		Drained:          l.life.Done(),
		Explain:          o.AdmissionTrace.Explain(),
	}
	if webhooks.tokens != nil {
		dependencies.WebhookTokens = webhooks.tokens
	}
	chain, err := admission.New(o.Admission, dependencies)
	if err != nil {
		return fmt.Errorf("making the admission chain: %w", err)
	}
	generic.AdmissionControl = chain
	return nil
}

// newTrace returns the record of admission's decisions, and lets the record's sign-in links and the log of requests
// take part in authentication.
func newTrace(o CompletedOptions, generic *genericapiserver.Config, clients, cluster *clients, l *lifetime) *admissiontrace.Trace {
	decisions := admissiontrace.New(admissiontrace.Config{
		Recorder:       o.AdmissionTrace.Recorder(),
		Following:      l.following,
		Serializer:     generic.Serializer,
		Decoder:        o.Table.Codecs().UniversalDeserializer(),
		RequestInfo:    genericapiserver.NewRequestInfoResolver(generic),
		Mapper:         clients.mapper,
		Configurations: cluster.typed.AdmissionregistrationV1(),
		Authorizer:     generic.Authorization.Authorizer,
		Discovery:      clients.typed.Discovery(),
		Equivalents:    func() runtime.EquivalentResourceMapper { return generic.EquivalentResourceRegistry },
		Hides: func(plugin string, resource schema.GroupResource) bool {
			return admission.Hides(o.globals.Gates(), plugin, resource)
		},
		Runs: o.Admission.Runs,
	})
	authenticator := decisions.Authenticator(generic.Authentication.Authenticator)
	if o.LogRequest != nil { // the log also gets the users that the sign-in links identify
		authenticator = requestlog.Authenticator{Request: authenticator}
	}
	generic.Authentication.Authenticator = authenticator
	return decisions
}
