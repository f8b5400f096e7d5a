package policy

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/miniapi-dev/miniapi/pkg/admission/explain"
	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// recorder begins considerations.
type recorder struct {
	// kind is the kind of the policies.
	kind      string
	explainer explain.Explainer
	// unbound returns the names of policies without a binding. The library doesn't consider these.
	unbound func() []string
	matcher generic.PolicyMatcher
}

// consider begins to record, if the request of the context is recorded. Otherwise, it returns nil.
func (r *recorder) consider(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, candidates map[string]*candidate) *consideration {
	c := &consideration{
		scope: trace.From(ctx), explainer: &r.explainer, attributes: a, interfaces: o, candidates: candidates, kind: r.kind,
	}
	for _, name := range r.unbound() {
		unbound := &trace.Policy{Reference: trace.Reference{Kind: r.kind, Name: name}, Verdict: trace.Verdict{Reason: trace.NoBinding}}
		c.scope.Update(func(*trace.Request) { c.scope.Step.Policies = append(c.scope.Step.Policies, unbound) })
	}
	return c
}

// recorded says that the request of a context is recorded.
func recorded(ctx context.Context) bool {
	scope := trace.From(ctx)
	return scope != nil && scope.Step != nil
}

func (c *consideration) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, considerationKey{}, c)
}

// newCandidate returns the candidate of a hook.
func newCandidate[P, B object, E generic.Evaluator](accessor generic.PolicyAccessor, hook generic.PolicyHook[P, B, E], namespace string) *candidate {
	return &candidate{
		PolicyAccessor: accessor, configuration: hook.ConfigurationError,
		params: func(binding generic.BindingAccessor) ([]runtime.Object, error) {
			return generic.CollectParams(accessor.GetParamKind(), hook.ParamInformer, hook.ParamScope, binding.GetParamRef(), namespace, hook.DynamicClient, hook.RESTMapper)
		},
	}
}

// validatingDispatcher records what the library's dispatcher does with validating policies.
type validatingDispatcher struct {
	generic.Dispatcher[validating.PolicyHook]
	*recorder
	authorizer authorizer.UnconditionalAuthorizer
}

// Dispatch implements generic.Dispatcher. The library's dispatcher has no state, so a recorded request has its own, whose
// matcher tells of policies and bindings.
func (d *validatingDispatcher) Dispatch(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, hooks []validating.PolicyHook) error {
	if !recorded(ctx) {
		return d.Dispatcher.Dispatch(ctx, a, o, hooks)
	}
	candidates := make(map[string]*candidate, len(hooks))
	for _, hook := range hooks {
		candidates[hook.Policy.Name] = newCandidate(validating.NewValidatingAdmissionPolicyAccessor(hook.Policy), hook, a.GetNamespace())
	}
	c := d.consider(ctx, a, o, candidates)
	err := validating.NewDispatcher(d.authorizer, &observedMatcher{d.matcher, c, hooks}).Dispatch(c.within(ctx), a, o, hooks)
	c.end(err)
	return err
}

// observedMatcher tells which validating policies and bindings match.
type observedMatcher struct {
	generic.PolicyMatcher
	consideration *consideration
	hooks         []validating.PolicyHook
}

// DefinitionMatches implements generic.PolicyMatcher.
func (m *observedMatcher) DefinitionMatches(a admission.Attributes, o admission.ObjectInterfaces, policy generic.PolicyAccessor) (bool, schema.GroupVersionResource, schema.GroupVersionKind, error) {
	matches, resource, kind, err := m.PolicyMatcher.DefinitionMatches(a, o, policy)
	m.consideration.considers(policy.GetName(), matches, err)
	return matches, resource, kind, err
}

// BindingMatches implements generic.PolicyMatcher.
func (m *observedMatcher) BindingMatches(a admission.Attributes, o admission.ObjectInterfaces, binding generic.BindingAccessor) (bool, error) {
	matches, err := m.PolicyMatcher.BindingMatches(a, o, binding)
	m.consideration.binds(binding, m.actions(binding), matches, err)
	return matches, err
}

// actions returns the validationActions of a binding, which the library's accessor lacks.
func (m *observedMatcher) actions(binding generic.BindingAccessor) []admissionregistrationv1.ValidationAction {
	for _, hook := range m.hooks {
		for _, configured := range hook.Bindings {
			if configured.Name == binding.GetName() {
				return configured.Spec.ValidationActions
			}
		}
	}
	return nil
}

// mutatingDispatcher records what the library's dispatcher does with mutating policies.
type mutatingDispatcher struct {
	generic.Dispatcher[mutating.PolicyHook]
	*recorder
}

// Dispatch implements generic.Dispatcher. The library compares all policies and bindings with the request before it
// evaluates the first, with a matcher that can't be replaced. So Dispatch compares them beforehand, and gives each
// binding that matches a hook of its own: its evaluations tell then which binding they are for.
func (d *mutatingDispatcher) Dispatch(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, hooks []mutating.PolicyHook) error {
	if !recorded(ctx) {
		return d.Dispatcher.Dispatch(ctx, a, o, hooks)
	}
	candidates := make(map[string]*candidate, len(hooks))
	for _, hook := range hooks {
		candidate := newCandidate(mutating.NewMutatingAdmissionPolicyAccessor(hook.Policy), hook, a.GetNamespace())
		candidate.reinvocation = hook.Policy.Spec.ReinvocationPolicy
		candidates[hook.Policy.Name] = candidate
	}
	c := d.consider(ctx, a, o, candidates)
	err := d.Dispatcher.Dispatch(c.within(ctx), a, o, d.split(c, hooks))
	c.end(err)
	return err
}

// split returns a hook for each binding of the policies that match.
func (d *mutatingDispatcher) split(c *consideration, hooks []mutating.PolicyHook) []mutating.PolicyHook {
	var split []mutating.PolicyHook
	for _, hook := range hooks {
		matches, _, _, err := d.matcher.DefinitionMatches(c.attributes, c.interfaces, mutating.NewMutatingAdmissionPolicyAccessor(hook.Policy))
		policy := c.considers(hook.Policy.Name, matches, err)
		if policy.record.Verdict.Reason != trace.Matched {
			split = append(split, hook)
			continue
		}
		for _, binding := range hook.Bindings {
			accessor := mutating.NewMutatingAdmissionPolicyBindingAccessor(binding)
			matches, err := d.matcher.BindingMatches(c.attributes, c.interfaces, accessor)
			own := hook
			own.Bindings = []*mutating.PolicyBinding{binding}
			own.Evaluator.Matcher = &observedConditionsOf{hook.Evaluator.Matcher, c, policy, c.binds(accessor, nil, matches, err)}
			split = append(split, own)
		}
	}
	return split
}

// observedConditionsOf are the match conditions of a mutating policy for one of its bindings. The library asks them before
// each evaluation. The inner matcher is nil for a policy without match conditions.
type observedConditionsOf struct {
	matchconditions.Matcher
	consideration *consideration
	policy        *candidate
	binding       *bound
}

// Match implements matchconditions.Matcher.
func (m *observedConditionsOf) Match(ctx context.Context, attributes *admission.VersionedAttributes, params runtime.Object, authorizer authorizer.UnconditionalAuthorizer) matchconditions.MatchResult {
	c := m.consideration
	c.finishEvaluation()
	c.policy, c.binding = m.policy, m.binding
	c.evaluates(params)
	if m.Matcher == nil {
		return matchconditions.MatchResult{Matches: true}
	}
	return m.Matcher.Match(ctx, attributes, params, authorizer)
}
