package policy

import (
	"io"

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
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/tools/cache"
)

// Environment is what the plugins need beyond what admission initializers give them.
type Environment struct {
	// Observe hands the informer of a custom resource, which parameters come from, to the barrier and
	// returns the one to run.
	Observe func(schema.GroupResource, cache.SharedIndexInformer) cache.SharedIndexInformer
	// Started is told what is done when the policies that exist at start are active, and what to call
	// when other resources are served: policies may have been waiting for them as parameters, or take
	// them from what was there before.
	Started func(active cache.DoneChecker, resourcesChanged func())
	// TypeConverter merges the apply configurations of mutating policies into objects of built-in
	// types. Without it their schemas are fetched from the server, as those of custom resources are.
	TypeConverter managedfields.TypeConverter
	// Definition finds the definition of a custom resource's kind, nil if there is none: apply
	// configurations are merged, and expressions checked, by its schema, and parameters are found anew
	// when it is another. Without it, the schema is fetched from the server.
	Definition func(schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition
}

// NewValidating returns the ValidatingAdmissionPolicy plugin.
func NewValidating(configFile io.Reader, environment Environment) (*validating.Plugin, error) {
	cfg, err := config.LoadValidatingConfig(configFile)
	if err != nil {
		return nil, err
	}
	plugin := &validating.Plugin{Plugin: generic.NewPlugin(
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
			schemas := newSchemas(environment.Definition, typed.Discovery())
			return checkedSource{source, newTypeChecks(typed, mapper, schemas, group.ValidatingAdmissionPolicies())}
		},
		func(a authorizer.UnconditionalAuthorizer, m *matching.Matcher, _ kubernetes.Interface) generic.Dispatcher[validating.PolicyHook] {
			return validating.NewDispatcher(a, generic.NewPolicyMatcher(m))
		},
	)}
	plugin.SetEnabled(true)
	plugin.SetStaticManifestsDir(cfg.StaticManifestsDir)
	return plugin, nil
}

// NewMutating returns the MutatingAdmissionPolicy plugin.
func NewMutating(configFile io.Reader, environment Environment) (*mutating.Plugin, error) {
	cfg, err := config.LoadMutatingConfig(configFile)
	if err != nil {
		return nil, err
	}
	plugin := &mutating.Plugin{Plugin: generic.NewPlugin(
		// A deletion has no object that could be mutated.
		admission.NewHandler(admission.Connect, admission.Create, admission.Update),
		func(f informers.SharedInformerFactory, _ kubernetes.Interface, client dynamic.Interface, mapper meta.RESTMapper) generic.Source[mutating.PolicyHook] {
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
			return source
		},
		func(a authorizer.UnconditionalAuthorizer, m *matching.Matcher, client kubernetes.Interface) generic.Dispatcher[mutating.PolicyHook] {
			return mutating.NewDispatcher(a, m, &converters{
				builtin:    environment.TypeConverter,
				definition: environment.Definition,
				openAPI:    func() openapi.Client { return client.Discovery().OpenAPIV3() },
			})
		},
	)}
	plugin.SetStaticManifestsDir(cfg.StaticManifestsDir)
	return plugin, nil
}

func (e Environment) started(active cache.DoneChecker, resourcesChanged func()) {
	if e.Started != nil {
		e.Started(active, resourcesChanged)
	}
}
