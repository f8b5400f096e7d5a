package admissionpolicy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// retryInterval is the interval at which a policy with an unknown paramKind is tried again: a
// CustomResourceDefinition can add the kind at any time. k8s.io/apiserver uses the same interval.
const retryInterval = time.Second

// object has the methods that both policies and bindings have.
type object interface {
	runtime.Object
	metav1.Object
}

// kind is one of the two kinds of policy, validating or mutating, with the functions that differ.
type kind[P, B object, E generic.Evaluator] struct {
	name            string
	policyAccessor  func(P) generic.PolicyAccessor
	bindingAccessor func(B) generic.BindingAccessor
	compile         func(P) E
}

// source implements generic.Source: it provides the active policies with their bindings. It computes these policies in
// the handlers of two informers: the informer of policies and the informer of bindings.
type source[P, B object, E generic.Evaluator] struct {
	kind     kind[P, B, E]
	policies cache.SharedIndexInformer
	bindings cache.SharedIndexInformer
	params   *params

	hooks atomic.Pointer[[]generic.PolicyHook[P, B, E]]
	// unbound are the names of the policies without a binding.
	unbound atomic.Pointer[[]string]
	synced  chan struct{}
	// err is the error of newSource, or nil. newSource has no error result, so Run returns the error.
	err error

	mu sync.Mutex
	// ctx is the context of Run. It is nil until both informers are synced.
	ctx      context.Context
	compiled map[string]compiled[E]
	// incomplete is true while the paramKind of a policy is unknown.
	incomplete bool
}

// compiled is a policy after compilation, with the resourceVersion that was compiled.
type compiled[E generic.Evaluator] struct {
	resourceVersion string
	evaluator       E
}

func newSource[P, B object, E generic.Evaluator](kind kind[P, B, E], policies, bindings cache.SharedIndexInformer, params *params) *source[P, B, E] {
	s := &source[P, B, E]{
		kind:     kind,
		policies: policies,
		bindings: bindings,
		params:   params,
		synced:   make(chan struct{}),
		compiled: map[string]compiled[E]{},
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.refresh() },
		UpdateFunc: func(any, any) { s.refresh() },
		DeleteFunc: func(any) { s.refresh() },
	}
	for _, informer := range []cache.SharedIndexInformer{policies, bindings} {
		_, err := informer.AddEventHandler(handler)
		s.err = errors.Join(s.err, err)
	}
	return s
}

// Run implements generic.Source.
func (s *source[P, B, E]) Run(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	if !cache.WaitFor(ctx, "", s.policies.HasSyncedChecker(), s.bindings.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	s.refresh()
	close(s.synced)

	retry := time.NewTicker(retryInterval)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-retry.C:
			s.retry()
		}
	}
}

// retry computes the active policies again (see refresh) if a paramKind is unknown.
func (s *source[P, B, E]) retry() {
	s.mu.Lock()
	incomplete := s.incomplete
	s.mu.Unlock()
	if incomplete {
		s.refresh()
	}
}

// resourcesChanged computes the active policies again (see refresh) if a paramKind is unknown, or if the
// definition of a paramKind has changed.
func (s *source[P, B, E]) resourcesChanged() {
	s.mu.Lock()
	changed := s.params.renew() || s.incomplete
	s.mu.Unlock()
	if changed {
		s.refresh()
	}
}

// HasSynced implements generic.Source.
func (s *source[P, B, E]) HasSynced() bool { return s.hooks.Load() != nil }

// Hooks implements generic.Source.
func (s *source[P, B, E]) Hooks() []generic.PolicyHook[P, B, E] {
	if hooks := s.hooks.Load(); hooks != nil {
		return *hooks
	}
	return nil
}

// Unbound returns the names of the policies without a binding.
func (s *source[P, B, E]) Unbound() []string {
	if unbound := s.unbound.Load(); unbound != nil {
		return *unbound
	}
	return nil
}

// Name implements cache.DoneChecker.
func (s *source[P, B, E]) Name() string { return s.kind.name + " source" }

// Done implements cache.DoneChecker.
func (s *source[P, B, E]) Done() <-chan struct{} { return s.synced }

// refresh computes the hooks from the informers' stores. A hook is k8s.io/apiserver's name for a policy with its
// bindings and parameters.
func (s *source[P, B, E]) refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		return
	}

	bindings := map[string][]B{}
	for _, stored := range s.bindings.GetStore().List() {
		binding := stored.(B)
		policy := s.kind.bindingAccessor(binding).GetPolicyName().Name
		bindings[policy] = append(bindings[policy], binding)
	}

	hooks := make([]generic.PolicyHook[P, B, E], 0, len(bindings))
	evaluators := make(map[string]compiled[E], len(bindings))
	usedParams := map[paramKind]bool{}
	s.incomplete = false
	var unbound []string
	for _, stored := range s.policies.GetStore().List() {
		policy := stored.(P)
		bound := bindings[policy.GetName()]
		if len(bound) == 0 {
			unbound = append(unbound, policy.GetName())
			continue // a policy without a binding has no effect
		}
		slices.SortFunc(bound, byName[B])
		hook := generic.PolicyHook[P, B, E]{
			Policy:        policy,
			Bindings:      bound,
			DynamicClient: s.params.client,
			RESTMapper:    s.params.mapper,
		}

		evaluator, ok := s.compiled[policy.GetName()]
		if !ok || evaluator.resourceVersion != policy.GetResourceVersion() {
			evaluator = compiled[E]{policy.GetResourceVersion(), s.kind.compile(policy)}
		}
		evaluators[policy.GetName()] = evaluator
		hook.Evaluator = evaluator.evaluator

		if ref := s.kind.policyAccessor(policy).GetParamKind(); ref != nil {
			used := paramKind{ref.APIVersion, ref.Kind}
			usedParams[used] = true
			hook.ParamInformer, hook.ParamScope, hook.ConfigurationError = s.params.get(s.ctx, used)
			if hook.ConfigurationError != nil {
				s.incomplete = true
				klog.FromContext(s.ctx).V(2).Info("parameters of a policy can't be found yet", "policy", policy.GetName(), "err", hook.ConfigurationError)
			}
		}
		hooks = append(hooks, hook)
	}
	slices.SortFunc(hooks, func(a, b generic.PolicyHook[P, B, E]) int { return byName(a.Policy, b.Policy) })

	s.compiled = evaluators
	s.params.keep(usedParams)
	slices.Sort(unbound)
	s.unbound.Store(&unbound)
	s.hooks.Store(&hooks)
}

func byName[T object](a, b T) int { return cmp.Compare(a.GetName(), b.GetName()) }
