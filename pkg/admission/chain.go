package admission

import (
	"fmt"
	"io"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	admissionmetrics "k8s.io/apiserver/pkg/admission/metrics"
	webhookinitializer "k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"

	"github.com/miniapi-dev/miniapi/pkg/admission/admissionpolicy"
	"github.com/miniapi-dev/miniapi/pkg/admission/admissionwebhook"
	"github.com/miniapi-dev/miniapi/pkg/admission/plugins/resourcequota"
	"github.com/miniapi-dev/miniapi/pkg/storage/informer"
)

// Dependencies are the parts of the server that the chain and its plugins use.
type Dependencies struct {
	// Config is the client configuration for plugins that want the server's own objects; see [WantsClientConfig].
	Config *rest.Config
	// Client and DynamicClient are clients of the server whose objects configure admission: the server itself, or the
	// cluster that it is behind.
	Client        kubernetes.Interface
	DynamicClient dynamic.Interface
	// Informers is the factory from which New requests informers. The server starts the informers afterwards.
	Informers  *informer.Factory
	Authorizer authorizer.Authorizer
	// RESTMapper finds the resource of a policy's paramKind.
	RESTMapper meta.RESTMapper

	FeatureGates     featuregate.FeatureGate
	EffectiveVersion compatibility.EffectiveVersion

	// ServerID is the label of this server in the metrics of static admission manifests.
	ServerID string
	// TypeConverter merges the apply configurations of mutating policies into objects of built-in types. If it is
	// nil, the plugin MutatingAdmissionPolicy fetches the schemas from the server.
	TypeConverter managedfields.TypeConverter
	// Foreign is true if the configuration of admission is that of another cluster; see [admissionpolicy.Environment].
	Foreign bool
	// Definition returns the CustomResourceDefinition of a kind; see [admissionpolicy.Environment].
	Definition func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition

	// Services resolves the services of webhooks to addresses, and WebhookAuth authenticates the server to webhooks. See
	// [services.NewResolver] and [services.NewAuthentication].
	Services    webhookutil.ServiceResolver
	WebhookAuth webhookutil.AuthenticationInfoResolverWrapper
	// WebhookTokens authenticates the server to webhooks. It is nil if the server doesn't authenticate itself.
	WebhookTokens admissionwebhook.TokenSource
	// Explain adds an explanation to the error of a refused request; see [Explain].
	Explain Explain

	// Drained is closed after the last request has ended. The plugins then end their goroutines.
	Drained <-chan struct{}
}

// notIntercepted are resources to which no policy applies: reviews of authentication and authorization, which
// aren't stored. Webhooks apply to them only while the feature gate ExcludeAdmissionWebhookVirtualResources is off.
var notIntercepted = []schema.GroupResource{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}

// chain has the values that the constructors of the plugins use.
type chain struct {
	Dependencies
	options   *Options
	manifests *initializer.ManifestLoaders
}

// New builds the chain that the options select. It requests the informers and doesn't start them. The server starts
// them, and calls [informer.Factory.WaitForSync] before it is ready.
func New(options *Options, dependencies Dependencies) (admission.Interface, error) {
	c := &chain{Dependencies: dependencies, options: options}
	configuration, err := readConfiguration(options.ConfigFile)
	if err != nil {
		return nil, err
	}

	if c.manifests, err = manifestLoaders(); err != nil {
		return nil, fmt.Errorf("making the loaders of static admission manifests: %w", err)
	}

	// A registry of plugins accepts each name only once. So each chain makes a registry of its own, and several servers
	// can run in one process.
	plugins := admission.NewPlugins()
	var names []string
	recorded := map[string]*recordedPlugin{}
	for _, p := range options.enabled() {
		names = append(names, p.name)
		plugins.Register(p.name, func(config io.Reader) (admission.Interface, error) {
			made, err := p.new(c, config)
			if err != nil && config != nil {
				return nil, fmt.Errorf("configuration in %s: %w", configuration.plugins[p.name].file, err)
			}
			recorded[p.name] = newRecordedPlugin(p.name, p.changes, made)
			return made, err
		})
	}
	handler, err := plugins.NewFromPlugins(names, configuration, c.initializers(), admission.DecoratorFunc(func(plugin admission.Interface, name string) admission.Interface {
		if options.ExemptGroup != "" && slices.Contains(considering, name) {
			plugin = exemptGroup{plugin, options.ExemptGroup}
		}
		recorded[name].Interface = admissionmetrics.WithControllerMetrics(plugin, name)
		return recorded[name]
	}))
	if err != nil {
		return nil, err
	}
	return &recordedChain{admissionmetrics.WithStepMetrics(handler), dependencies.Explain}, nil
}

// initializers returns the initializers of the plugins. They give each plugin the dependencies for which the plugin has
// a Set method.
func (c *chain) initializers() admission.PluginInitializers {
	return admission.PluginInitializers{
		initializer.NewAPIServerIDInitializer(c.ServerID),
		initializer.New(c.Client, c.DynamicClient, c.Informers, c.Authorizer, c.FeatureGates, c.EffectiveVersion, c.Drained, c.RESTMapper),
		initializerFunc(c.initialize),
		webhookinitializer.NewPluginInitializer(c.WebhookAuth, c.Services),
	}
}

// initialize sets the dependencies for which k8s.io/apiserver has no initializer.
func (c *chain) initialize(plugin admission.Interface) {
	if wants, ok := plugin.(initializer.WantsExcludedAdmissionResources); ok {
		wants.SetExcludedAdmissionResources(notIntercepted)
	}
	if wants, ok := plugin.(initializer.WantsManifestLoaders); ok {
		wants.SetManifestLoaders(c.manifests)
	}
	if wants, ok := plugin.(WantsClientConfig); ok {
		wants.SetClientConfig(rest.CopyConfig(c.Config))
	}
	if wants, ok := plugin.(initializer.WantsQuotaConfiguration); ok {
		wants.SetQuotaConfiguration(resourcequota.Configuration(nil))
	}
}

func (c *chain) policyEnvironment() admissionpolicy.Environment {
	return admissionpolicy.Environment{
		Observe:       c.Informers.Barrier().Observe,
		Started:       c.Informers.Follow,
		TypeConverter: c.TypeConverter,
		Definition:    c.Definition,
		Foreign:       c.Foreign,
	}
}

// initializerFunc makes a function an admission.PluginInitializer.
type initializerFunc func(admission.Interface)

// Initialize implements admission.PluginInitializer.
func (f initializerFunc) Initialize(plugin admission.Interface) { f(plugin) }
