package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/miniapi-dev/miniapi/pkg/trace"
)

// Config has the parts of the server that an Injector needs.
type Config struct {
	// Seed is the seed of the random choices: the requests that faults with Share select, and the random latencies.
	Seed uint64
	// Serializer encodes responses.
	Serializer runtime.NegotiatedSerializer
	// Namespaces is a client of the server itself. Its lists have the resource version of the last write of any object.
	Namespaces corev1.NamespaceInterface
	// Abort resets the connection of a request.
	Abort func(*http.Request)
	// Stopping ends when a stop of the server begins. Then requests no longer wait for the latency of a fault.
	Stopping context.Context
}

// Injector has the faults of a server. It is safe for concurrent use. It has many methods, because all kinds of faults
// share its rules and its lock.
type Injector struct {
	config Config
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

// New returns an Injector without faults.
func New(config Config) *Injector { return &Injector{config: config} }

// InForce tells whether there are faults.
func (i *Injector) InForce() bool { return i.current.Load() != nil }

// add adds all faults, and returns their states. If one fault is invalid, it adds no fault. The error is an API error.
func (i *Injector) add(ctx context.Context, faults []Fault, from source) ([]State, error) {
	return i.change(ctx, faults, from, func(*rule) bool { return true })
}

// replace replaces the faults of a source. A fault that is in both the old and the new list keeps its counts.
func (i *Injector) replace(ctx context.Context, faults []Fault, from source) error {
	_, err := i.change(ctx, faults, from, func(r *rule) bool { return r.source != from })
	return err
}

// change drops the rules for which the function keep returns false, and adds faults.
func (i *Injector) change(ctx context.Context, faults []Fault, from source, keep func(*rule) bool) ([]State, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var next rules
	for _, r := range i.all {
		if keep(r) {
			next = append(next, r)
		}
	}
	faults, err := i.name(faults, from, next)
	if err != nil {
		return nil, err
	}
	if err := validateAll(faults); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	var added, fresh rules
	for _, f := range faults {
		if same := i.all.same(f, from); same != nil {
			added = append(added, same)
			continue
		}
		r := newRule(f, from, i.config.Seed)
		if err := i.freeze(ctx, r); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		added, fresh = append(added, r), append(fresh, r)
	}
	i.force(append(next, added...))
	i.endWatches(fresh)
	return added.states(), nil
}

// name returns the faults, each with a name. The default name has the source of the fault and a number, such as
// flag-1.
func (i *Injector) name(faults []Fault, from source, others rules) ([]Fault, error) {
	names := map[string]bool{}
	for _, r := range others {
		names[r.fault.Name] = true
	}
	named := slices.Clone(faults)
	for n := range named {
		f := &named[n]
		if f.Name == "" {
			place := n + 1
			if from == fromRequest {
				i.named++
				place = i.named
			}
			f.Name = fmt.Sprintf("%s-%d", from, place)
		}
		if names[f.Name] {
			return nil, apierrors.NewAlreadyExists(groupResource(), f.Name)
		}
		names[f.Name] = true
	}
	return named, nil
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
func (i *Injector) remove(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	var next rules
	for _, r := range i.all {
		if name != "" && r.fault.Name != name {
			next = append(next, r)
		}
	}
	removed := len(next) < len(i.all)
	i.force(next)
	return removed
}

// force replaces the rules in force.
func (i *Injector) force(all rules) {
	i.all = all
	if len(all) == 0 {
		i.current.Store(nil)
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
	i.current.Store(current)
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
func (i *Injector) states() []State {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.all.states()
}

// record adds an event to the request's events and to its trace.
func record(ctx context.Context, events *events, made *injection) {
	e := made.event()
	events.add(e)
	if scope := trace.From(ctx); scope != nil {
		scope.Injected(e.traced(), made.subject.objectName())
	}
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
