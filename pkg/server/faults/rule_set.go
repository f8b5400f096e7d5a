package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// ruleSet has the rules of all faults, and the open watches that a new rule may end. The methods add, replace, change,
// remove, states and open lock mu, so several goroutines may call them. A caller of another method holds mu.
type ruleSet struct {
	// seed is the seed of the rules' random numbers.
	seed uint64
	// now returns the resource version of the last write of any object.
	now func(context.Context) (uint64, error)
	// stopping ends when a stop of the server begins.
	stopping context.Context
	// current has the rules in force. It is nil while there are none.
	current atomic.Pointer[inForce]

	mu      sync.Mutex
	all     rules
	watches []*openWatch
	// named counts the default names of faults from requests: request-1, request-2 and so on.
	named int
}

// inForce has the rules for requests, and the rules for calls of webhooks.
type inForce struct{ requests, webhooks rules }

// source is the origin of a fault: a flag, a file or a request.
type source string

const (
	fromFlags   source = "flag"
	fromFile    source = "file"
	fromRequest source = "request"
)

// add adds all faults, and returns their states. If one fault is invalid, it adds no fault. The error is an API error.
func (s *ruleSet) add(ctx context.Context, faults []Fault, from source) ([]State, error) {
	return s.change(ctx, faults, from, func(*rule) bool { return true })
}

// replace replaces the faults of a source. A fault that is in both the old and the new list keeps its counts.
func (s *ruleSet) replace(ctx context.Context, faults []Fault, from source) error {
	_, err := s.change(ctx, faults, from, func(r *rule) bool { return r.source != from })
	return err
}

// change drops the rules for which the function keep returns false, and adds faults.
func (s *ruleSet) change(ctx context.Context, faults []Fault, from source, keep func(*rule) bool) ([]State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next rules
	for _, r := range s.all {
		if keep(r) {
			next = append(next, r)
		}
	}
	faults, err := s.name(faults, from, next)
	if err != nil {
		return nil, err
	}
	if err := validateAll(faults); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var added, fresh rules
	for _, f := range faults {
		if same := s.all.same(f, from); same != nil {
			added = append(added, same)
			continue
		}
		r := newRule(f, from, s.seed)
		if err := s.freeze(ctx, r); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		added, fresh = append(added, r), append(fresh, r)
	}
	s.force(append(next, added...))
	s.endWatches(fresh)
	return added.states(), nil
}

// name returns the faults, each with a name. The default name has the source of the fault and a number, such as
// flag-1.
func (s *ruleSet) name(faults []Fault, from source, others rules) ([]Fault, error) {
	names := map[string]bool{}
	for _, r := range others {
		names[r.fault.Name] = true
	}
	named := slices.Clone(faults)
	for n := range named {
		f := &named[n]
		if f.Name == "" {
			f.Name = s.defaultName(from, n, names)
		}
		if names[f.Name] {
			return nil, apierrors.NewAlreadyExists(groupResource(), f.Name)
		}
		names[f.Name] = true
	}
	return named, nil
}

// defaultName returns the name of fault n of a source. For a request, the name is the next one that isn't taken.
func (s *ruleSet) defaultName(from source, n int, taken map[string]bool) string {
	if from != fromRequest {
		return fmt.Sprintf("%s-%d", from, n+1)
	}
	for {
		s.named++
		if name := fmt.Sprintf("%s-%d", from, s.named); !taken[name] {
			return name
		}
	}
}

// same returns the rule in force for a fault that equals f and has the same source, or nil.
func (all rules) same(f Fault, from source) *rule {
	for _, r := range all {
		if r.source == from && r.fault.equal(f) {
			return r
		}
	}
	return nil
}

// remove removes the fault with the name, or all faults if the name is "". It reports whether it removed a fault.
func (s *ruleSet) remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next rules
	for _, r := range s.all {
		if name != "" && r.fault.Name != name {
			next = append(next, r)
		}
	}
	removed := len(next) < len(s.all)
	s.force(next)
	return removed
}

// force replaces the rules in force.
func (s *ruleSet) force(all rules) {
	s.all = all
	if len(all) == 0 {
		s.current.Store(nil)
		return
	}
	current := &inForce{}
	for _, r := range all {
		if len(r.webhooks) > 0 {
			current.webhooks = append(current.webhooks, r)
		} else {
			current.requests = append(current.requests, r)
		}
	}
	s.current.Store(current)
}

// State is a fault in force with its counts.
type State struct {
	Fault `json:",inline"`
	// Source is the origin of the fault: flag, file or request.
	Source string `json:"source"`
	// Matched is the number of requests that the fault has selected. Injected is the number of requests that met the
	// fault.
	Matched  uint64 `json:"matched"`
	Injected uint64 `json:"injected"`
}

func (all rules) states() []State {
	states := make([]State, 0, len(all))
	for _, r := range all {
		states = append(states, State{r.fault, string(r.source), r.matched.Load(), r.injected.Load()})
	}
	return states
}

// states returns the faults of the rules, in the order in which requests are compared with them.
func (s *ruleSet) states() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.states()
}

// validateAll returns the errors of all faults.
func validateAll(faults []Fault) error {
	var errs []error
	for _, f := range faults {
		if err := f.validate(); err != nil {
			errs = append(errs, fmt.Errorf("fault %s: %w", f.Name, err))
		}
	}
	return utilerrors.NewAggregate(errs)
}
