package admissionpolicy

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
	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
	"github.com/miniapi-dev/miniapi/pkg/recorder"
)

// considerer makes a consideration for each recorded request. A consideration records what the plugin does with its
// policies.
type considerer struct {
	// kind is the kind of the policies: ValidatingAdmissionPolicy or MutatingAdmissionPolicy.
	kind      string
	explainer explain.Explainer
	// unbound returns the names of the policies without a binding. The considerer adds these policies itself, because
	// k8s.io/apiserver ignores them.
	unbound func() []string
	matcher generic.PolicyMatcher
}

// consider makes the consideration of a recorded request, and records the policies without a binding.
func (r *considerer) consider(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces, candidates map[string]*candidate) *consideration {
	c := &consideration{
		scope: recorder.From(ctx), explainer: &r.explainer, attributes: a, interfaces: o, candidates: candidates, kind: r.kind,
	}
	for _, name := range r.unbound() {
		unbound := &trace.Policy{Reference: trace.Reference{Kind: r.kind, Name: name}, Verdict: trace.Verdict{Reason: trace.NoBinding}}
		c.scope.Update(func(*trace.Request) { c.scope.Step.Policies = append(c.scope.Step.Policies, unbound) })
	}
	return c
}

// recorded reports whether the request of the context is recorded.
func recorded(ctx context.Context) bool {
	scope := recorder.From(ctx)
	return scope != nil && scope.Step != nil
}

func (c *consideration) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, considerationKey{}, c)
}

// newCandidate returns the candidate, a policy that may match the request, for a policy hook. A hook is
// k8s.io/apiserver's name for a policy with its bindings and parameters.
func newCandidate[P, B object, E generic.Evaluator](accessor generic.PolicyAccessor, hook generic.PolicyHook[P, B, E], namespace string) *candidate {
	return &candidate{
		PolicyAccessor: accessor, configuration: hook.ConfigurationError,
		params: func(binding generic.BindingAccessor) ([]runtime.Object, error) {
			return generic.CollectParams(accessor.GetParamKind(), hook.ParamInformer, hook.ParamScope, binding.GetParamRef(), namespace, hook.DynamicClient, hook.RESTMapper)
		},
	}
}

// validatingDispatcher runs k8s.io/apiserver's dispatcher of validating policies, and records what it does.
type validatingDispatcher struct {
	generic.Dispatcher[validating.PolicyHook]
	*considerer
	authorizer authorizer.UnconditionalAuthorizer
}

// Dispatch implements generic.Dispatcher. For a recorded request, it makes a new dispatcher whose matcher records which
// policies and bindings match. A new dispatcher for each request is cheap, because a dispatcher has no state.
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

// observedMatcher is a matcher that records which validating policies and bindings match.
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

// actions returns the validationActions of a binding. k8s.io/apiserver's accessor of bindings doesn't have them.
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

// mutatingDispatcher runs k8s.io/apiserver's dispatcher of mutating policies, and records what it does.
type mutatingDispatcher struct {
	generic.Dispatcher[mutating.PolicyHook]
	*considerer
}

// Dispatch implements generic.Dispatcher.
//
// k8s.io/apiserver's dispatcher first compares all policies and bindings with the request, by a matcher that can't be
// replaced. Then it evaluates the policies that match. The evaluation of a policy doesn't show for which binding it is
// made. So Dispatch makes the comparisons itself beforehand, and passes one hook (a policy with bindings) for each
// binding of a policy that matches. The matcher of this hook holds the binding.
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

// split returns a hook for each binding of the policies that match. A policy that doesn't match keeps its hook.
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

// observedConditionsOf are the match conditions of a mutating policy, for one of its bindings. k8s.io/apiserver
// calls Match before each evaluation. The embedded Matcher is nil for a policy without match conditions.
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
