package admissionwebhook

import (
	"context"
	"errors"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/generic"
	webhookinitializer "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/features"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// plugin is an admission plugin that makes k8s.io/apiserver's webhook plugin only when there may be a webhook to call.
// Most servers have no webhooks, and k8s.io/apiserver's plugin takes a tenth of a server's start, because it makes the
// CEL environments of match conditions.
//
// If the plugin has a configuration, k8s.io/apiserver's plugin is made at the start: the configuration may name static
// manifests with webhooks.
type plugin struct {
	*admission.Handler
	newAPIServerPlugin func(sourceFactory) (apiserverPlugin, error)
	configured         bool
	// settings are the calls of the initializers, in their order. They are repeated on k8s.io/apiserver's plugin when
	// that plugin is made.
	settings []func(apiserverPlugin)
	// initialized makes k8s.io/apiserver's plugin at its first call, and returns it.
	initialized func() (apiserverPlugin, error)

	newSource sourceFactory
	informers informers.SharedInformerFactory
	excluded  sets.Set[schema.GroupResource]
	excludes  bool
	// source provides the webhooks. It is nil if the plugin has a WebhookAdmissionConfiguration: k8s.io/apiserver's
	// plugin then makes the source by newSource, and adds the webhooks of static manifests.
	source generic.Source
	// explainer says why a webhook matches a request or doesn't, for recorded requests.
	explainer *explainer
}

// apiserverPlugin is the interface of k8s.io/apiserver's webhook plugins.
type apiserverPlugin interface {
	wants
	Dispatch(context.Context, admission.Attributes, admission.ObjectInterfaces) error
}

// wants lists the initializers that k8s.io/apiserver's webhook plugins need.
type wants interface {
	webhookinitializer.WantsServiceResolver
	webhookinitializer.WantsAuthenticationInfoResolverWrapper
	initializer.WantsAPIServerID
	initializer.WantsDrainedNotification
	initializer.WantsExcludedAdmissionResources
	initializer.WantsExternalKubeClientSet
	initializer.WantsExternalKubeInformerFactory
	initializer.WantsFeatures
	initializer.WantsManifestLoaders
	initializer.WantsUnconditionalAuthorizer
}

var _ wants = &plugin{}

type sourceFactory = func(informers.SharedInformerFactory, sets.Set[schema.GroupResource]) generic.Source

// newPlugin returns a plugin. The argument newSource makes the source of webhooks. The argument newAPIServerPlugin
// makes k8s.io/apiserver's plugin.
func newPlugin(config io.Reader, tokens TokenSource, newSource sourceFactory,
	newAPIServerPlugin func(io.Reader, sourceFactory, *explainer, TokenSource) (apiserverPlugin, error)) (*plugin, error) {
	explainer := &explainer{conditions: conditions{compiler: newCompiler}}
	p := &plugin{
		Handler: handler(), newSource: newSource, excluded: sets.New[schema.GroupResource](), explainer: explainer,
		newAPIServerPlugin: func(source sourceFactory) (apiserverPlugin, error) {
			return newAPIServerPlugin(nil, source, explainer, tokens)
		},
	}
	if config == nil {
		return p, nil
	}
	made, err := newAPIServerPlugin(config, newSource, explainer, tokens)
	p.configured, p.newAPIServerPlugin = true, func(sourceFactory) (apiserverPlugin, error) { return made, err }
	return p, err
}

// ValidateInitialization implements admission.InitializationValidator.
func (p *plugin) ValidateInitialization() error {
	p.initialized = sync.OnceValues(p.initialize)
	if p.configured {
		_, err := p.initialized()
		return err
	}
	if p.informers == nil {
		return errors.New("the plugin has no informers")
	}
	// k8s.io/apiserver's plugin will need this informer. It must be requested here: all informers are started at
	// once, and possibly before the plugin is made.
	p.informers.Core().V1().Namespaces().Informer()
	var excluded sets.Set[schema.GroupResource]
	if p.excludes {
		excluded = p.excluded
	}
	p.source = p.newSource(p.informers, excluded)
	return nil
}

func (p *plugin) initialize() (apiserverPlugin, error) {
	made, err := p.newAPIServerPlugin(func(informers.SharedInformerFactory, sets.Set[schema.GroupResource]) generic.Source { return p.source })
	if err != nil {
		return nil, err
	}
	for _, set := range p.settings {
		set(made)
	}
	return made, made.ValidateInitialization()
}

func (p *plugin) dispatch(ctx context.Context, attributes admission.Attributes, objects admission.ObjectInterfaces) error {
	if scope := recorder.From(ctx); scope != nil && scope.Step != nil {
		p.exempt(scope, attributes)
	}
	if p.source != nil && p.source.HasSynced() && len(p.source.Webhooks()) == 0 {
		return nil
	}
	made, err := p.initialized()
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return made.Dispatch(ctx, attributes, objects)
}

func (p *plugin) set(setting func(apiserverPlugin)) { p.settings = append(p.settings, setting) }

// SetServiceResolver implements initializer.WantsServiceResolver.
func (p *plugin) SetServiceResolver(resolver webhookutil.ServiceResolver) {
	p.set(func(p apiserverPlugin) { p.SetServiceResolver(resolver) })
}

// SetAuthenticationInfoResolverWrapper implements initializer.WantsAuthenticationInfoResolverWrapper.
func (p *plugin) SetAuthenticationInfoResolverWrapper(wrapper webhookutil.AuthenticationInfoResolverWrapper) {
	p.set(func(p apiserverPlugin) { p.SetAuthenticationInfoResolverWrapper(wrapper) })
}

// SetAPIServerID implements initializer.WantsAPIServerID.
func (p *plugin) SetAPIServerID(id string) {
	p.set(func(p apiserverPlugin) { p.SetAPIServerID(id) })
}

// SetDrainedNotification implements initializer.WantsDrainedNotification.
func (p *plugin) SetDrainedNotification(drained <-chan struct{}) {
	p.set(func(p apiserverPlugin) { p.SetDrainedNotification(drained) })
}

// SetExcludedAdmissionResources implements initializer.WantsExcludedAdmissionResources.
func (p *plugin) SetExcludedAdmissionResources(resources []schema.GroupResource) {
	p.excluded.Insert(resources...)
	p.set(func(p apiserverPlugin) { p.SetExcludedAdmissionResources(resources) })
}

// SetExternalKubeClientSet implements initializer.WantsExternalKubeClientSet.
func (p *plugin) SetExternalKubeClientSet(client kubernetes.Interface) {
	p.explainer.Namespaces.Client = client
	p.set(func(p apiserverPlugin) { p.SetExternalKubeClientSet(client) })
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (p *plugin) SetExternalKubeInformerFactory(factory informers.SharedInformerFactory) {
	p.informers, p.explainer.Namespaces.NamespaceLister = factory, factory.Core().V1().Namespaces().Lister()
	p.set(func(p apiserverPlugin) { p.SetExternalKubeInformerFactory(factory) })
}

// InspectFeatureGates implements initializer.WantsFeatures.
func (p *plugin) InspectFeatureGates(gates featuregate.FeatureGate) {
	p.excludes = gates.Enabled(features.ExcludeAdmissionWebhookVirtualResources)
	p.set(func(p apiserverPlugin) { p.InspectFeatureGates(gates) })
}

// SetManifestLoaders implements initializer.WantsManifestLoaders.
func (p *plugin) SetManifestLoaders(loaders *initializer.ManifestLoaders) {
	p.set(func(p apiserverPlugin) { p.SetManifestLoaders(loaders) })
}

// SetUnconditionalAuthorizer implements initializer.WantsUnconditionalAuthorizer.
func (p *plugin) SetUnconditionalAuthorizer(authorizer authorizer.UnconditionalAuthorizer) {
	p.explainer.conditions.authorizer = authorizer
	p.set(func(p apiserverPlugin) { p.SetUnconditionalAuthorizer(authorizer) })
}
