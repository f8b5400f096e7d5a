package admissionpolicy

import (
	"context"
	"io"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/config"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	namespaces "k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/tools/cache"

	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// Environment has the dependencies of the plugins for which k8s.io/apiserver has no initializer.
type Environment struct {
	// Observe makes each write of a custom resource wait until the informer has it. The plugin calls Observe for the
	// informers of parameter objects that are custom resources, and runs the returned informers.
	Observe func(schema.GroupResource, cache.SharedIndexInformer) cache.SharedIndexInformer
	// Started is called once by each plugin, with a checker and a function. The checker is done when the policies that
	// exist at the start are active. The function must be called when the served resources change: the paramKind of a
	// policy may be served from then on, or have another schema.
	Started func(active cache.DoneChecker, resourcesChanged func())
	// TypeConverter merges the apply configurations of mutating policies into objects of built-in types. If it is
	// nil, the plugin fetches the schemas from the server.
	TypeConverter managedfields.TypeConverter
	// Definition returns the CustomResourceDefinition of a kind, or nil if there is none. The plugins use the schema of
	// the definition to check expressions and to merge apply configurations. When the definition changes, the plugins
	// read the parameter objects of its kind again. If Definition itself is nil, the plugins fetch schemas from the
	// server.
	Definition func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition
	// Foreign is true if the policies are those of another cluster. That cluster checks the types of their expressions.
	Foreign bool
}

// Validating is the plugin ValidatingAdmissionPolicy.
type Validating struct {
	*validating.Plugin
	hidden hiddenResources
}

// Validate implements admission.ValidationInterface.
func (v *Validating) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	v.hidden.exempt(ctx, a)
	return v.Plugin.Validate(ctx, a, o)
}

// SetExcludedAdmissionResources implements initializer.WantsExcludedAdmissionResources.
func (v *Validating) SetExcludedAdmissionResources(resources []schema.GroupResource) {
	v.hidden = resources
	v.Plugin.SetExcludedAdmissionResources(resources)
}

// Mutating is the plugin MutatingAdmissionPolicy.
type Mutating struct {
	*mutating.Plugin
	hidden hiddenResources
}

// Admit implements admission.MutationInterface.
func (m *Mutating) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	m.hidden.exempt(ctx, a)
	return m.Plugin.Admit(ctx, a, o)
}

// SetExcludedAdmissionResources implements initializer.WantsExcludedAdmissionResources.
func (m *Mutating) SetExcludedAdmissionResources(resources []schema.GroupResource) {
	m.hidden = resources
	m.Plugin.SetExcludedAdmissionResources(resources)
}

// hiddenResources are the resources to which no policy applies.
type hiddenResources []schema.GroupResource

// exempt records the reason if the plugin considers none of its policies for a request.
func (h hiddenResources) exempt(ctx context.Context, a admission.Attributes) {
	if !recorded(ctx) {
		return
	}
	resource, scope := a.GetResource().GroupResource(), recorder.From(ctx)
	verdict := explain.PolicyExemption(a, slices.Contains(h, resource))
	if verdict == nil {
		return
	}
	scope.Update(func(*trace.Request) { scope.Step.Exempt = verdict })
}

// NewValidating returns the ValidatingAdmissionPolicy plugin.
func NewValidating(configFile io.Reader, environment Environment) (*Validating, error) {
	cfg, err := config.LoadValidatingConfig(configFile)
	if err != nil {
		return nil, err
	}
	considerer := &considerer{kind: trace.ValidatingPolicy}
	plugin := &Validating{Plugin: &validating.Plugin{Plugin: generic.NewPlugin(
		admission.NewHandler(admission.Connect, admission.Create, admission.Delete, admission.Update),
		func(f informers.SharedInformerFactory, typed kubernetes.Interface, client dynamic.Interface, mapper meta.RESTMapper) generic.Source[validating.PolicyHook] {
			group := f.Admissionregistration().V1()
			source := newSource(
				kind[*validating.Policy, *validating.PolicyBinding, validating.Validator]{
					name:            validating.PluginName,
					policyAccessor:  validating.NewValidatingAdmissionPolicyAccessor,
					bindingAccessor: validating.NewValidatingAdmissionPolicyBindingAccessor,
					compile:         compileValidating,
				},
				group.ValidatingAdmissionPolicies().Informer(),
				group.ValidatingAdmissionPolicyBindings().Informer(),
				&params{informers: f, client: client, mapper: mapper, observe: environment.Observe, definition: environment.Definition},
			)
			environment.started(source, source.resourcesChanged)
			considerer.explainer.Namespaces = namespaces.Matcher{NamespaceLister: f.Core().V1().Namespaces().Lister(), Client: typed}
			considerer.unbound = source.Unbound
			if environment.Foreign {
				return source
			}
			schemas := newSchemas(environment.Definition, typed.Discovery())
			return checkedSource{source, newTypeChecks(typed, mapper, schemas, group.ValidatingAdmissionPolicies())}
		},
		func(a authorizer.UnconditionalAuthorizer, m *matching.Matcher, _ kubernetes.Interface) generic.Dispatcher[validating.PolicyHook] {
			considerer.matcher = generic.NewPolicyMatcher(m)
			return &validatingDispatcher{validating.NewDispatcher(a, considerer.matcher), considerer, a}
		},
	)}}
	plugin.SetEnabled(true)
	plugin.SetStaticManifestsDir(cfg.StaticManifestsDir)
	return plugin, nil
}

// NewMutating returns the MutatingAdmissionPolicy plugin.
func NewMutating(configFile io.Reader, environment Environment) (*Mutating, error) {
	cfg, err := config.LoadMutatingConfig(configFile)
	if err != nil {
		return nil, err
	}
	considerer := &considerer{kind: trace.MutatingPolicy}
	plugin := &Mutating{Plugin: &mutating.Plugin{Plugin: generic.NewPlugin(
		// Mutating policies don't handle deletions, which have no object to change.
		admission.NewHandler(admission.Connect, admission.Create, admission.Update),
		func(f informers.SharedInformerFactory, typed kubernetes.Interface, client dynamic.Interface, mapper meta.RESTMapper) generic.Source[mutating.PolicyHook] {
			group := f.Admissionregistration().V1()
			source := newSource(
				kind[*mutating.Policy, *mutating.PolicyBinding, mutating.PolicyEvaluator]{
					name:            mutating.PluginName,
					policyAccessor:  mutating.NewMutatingAdmissionPolicyAccessor,
					bindingAccessor: mutating.NewMutatingAdmissionPolicyBindingAccessor,
					compile:         compileMutating,
				},
				group.MutatingAdmissionPolicies().Informer(),
				group.MutatingAdmissionPolicyBindings().Informer(),
				&params{informers: f, client: client, mapper: mapper, observe: environment.Observe, definition: environment.Definition},
			)
			environment.started(source, source.resourcesChanged)
			considerer.explainer.Namespaces = namespaces.Matcher{NamespaceLister: f.Core().V1().Namespaces().Lister(), Client: typed}
			considerer.unbound = source.Unbound
			return source
		},
		func(a authorizer.UnconditionalAuthorizer, m *matching.Matcher, client kubernetes.Interface) generic.Dispatcher[mutating.PolicyHook] {
			considerer.matcher = generic.NewPolicyMatcher(m)
			return &mutatingDispatcher{mutating.NewDispatcher(a, m, &converters{
				builtin:    environment.TypeConverter,
				definition: environment.Definition,
				openAPI:    func() openapi.Client { return client.Discovery().OpenAPIV3() },
			}), considerer}
		},
	)}}
	plugin.SetStaticManifestsDir(cfg.StaticManifestsDir)
	return plugin, nil
}

func (e Environment) started(active cache.DoneChecker, resourcesChanged func()) {
	if e.Started != nil {
		e.Started(active, resourcesChanged)
	}
}
