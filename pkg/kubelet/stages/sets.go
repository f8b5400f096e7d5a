// Package stages has the stages through which pods and nodes go. Stages are those of kwok (https://kwok.sigs.k8s.io):
// its types, its expressions, and its lifecycle engine.
//
// [Parse] reads the values of the flag --stages, and returns the [Choices] by which a pod or a node gets its stages.
package stages

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// Annotation is the annotation of a pod or a node with the name of its set of stages.
const Annotation = "miniapi.dev/stages"

const (
	// Ready is the name of the set of objects for which no other set is chosen.
	Ready = "ready"
	// NodeLost is the name of the set of nodes whose kubelets have stopped.
	NodeLost = "node-lost"
)

// builtin has the files of each set that is built in.
var builtin = map[string][]string{
	Ready:                {"node-ready", "pod-ready", "pod-update", "pod-complete", "pod-delete"},
	"complete":           {"pod-ready", "pod-update", "pod-succeed", "pod-delete"},
	"failure":            {"pod-ready", "pod-update", "pod-fail", "pod-delete"},
	"slow-start":         {"pod-create", "pod-start", "pod-become-ready", "pod-update", "pod-complete", "pod-delete"},
	"crash-loop":         {"pod-crash-start", "pod-crash", "pod-crash-back-off", "pod-delete"},
	"image-pull-failure": {"pod-pull", "pod-pull-back-off", "pod-delete"},
	"readiness-failure":  {"pod-unready", "pod-delete"},
	"evicted":            {"pod-ready", "pod-update", "pod-evict", "pod-delete"},
	NodeLost:             {"node-lost"},
}

//go:embed builtin/*.yaml
var files embed.FS

// Names returns the names of the sets that are built in.
func Names() []string { return slices.Sorted(maps.Keys(builtin)) }

// celTypes guards the types that kwok's library for CEL keeps for the whole process: compiling an expression writes them,
// and evaluating one reads them.
var celTypes sync.RWMutex

// Set is a set of stages.
type Set struct {
	Name   string
	stages map[string]lifecycle.Lifecycle // by kind
}

// Next returns the stage that an object of a kind comes to next, or nil.
func (s *Set) Next(ctx context.Context, kind string, event *lifecycle.Event) (*lifecycle.Stage, error) {
	celTypes.RLock()
	defer celTypes.RUnlock()
	stage, err := s.stages[kind].Match(ctx, event)
	if err != nil {
		return nil, fmt.Errorf("stages %s: %w", s.Name, err)
	}
	return stage, nil
}

// Delay returns the time for which a stage waits for an object.
func Delay(ctx context.Context, stage *lifecycle.Stage, event *lifecycle.Event, now time.Time) (time.Duration, error) {
	celTypes.RLock()
	defer celTypes.RUnlock()
	delay, _, err := stage.Delay(ctx, event, now)
	return delay, err
}

// has reports whether the set has stages of a kind.
func (s *Set) has(kind string) bool { return s != nil && len(s.stages[kind]) > 0 }

// samples has an object of each kind that can have stages.
var samples = map[string]any{"Pod": &corev1.Pod{}, "Node": &corev1.Node{}}

// newSet makes a set of checked stages.
func newSet(ctx context.Context, name string, all []*internalversion.Stage) (*Set, error) {
	set := &Set{Name: name, stages: map[string]lifecycle.Lifecycle{}}
	for _, stage := range all {
		if made := lifecycle.NewStage(stage); made != nil {
			set.stages[stage.Spec.ResourceRef.Kind] = append(set.stages[stage.Spec.ResourceRef.Kind], made)
		}
	}
	celTypes.Lock()
	defer celTypes.Unlock()
	for kind, of := range set.stages {
		// The first match compiles the expressions.
		if _, err := of.ListAllPossible(ctx, &lifecycle.Event{Data: samples[kind]}); err != nil {
			return nil, fmt.Errorf("stages %s: %w", name, err)
		}
	}
	return set, nil
}

// Choices has the sets that objects have.
type Choices struct {
	chosen []chosen // in the order of the flags

	mu   sync.Mutex
	made map[string]*Set // those that are built in and have been needed
}

// chosen is a set of stages for the objects with some labels.
type chosen struct {
	set      *Set
	selector labels.Selector
}

// Parse returns the choices that the values of --stages stand for. A value is the path of a file with stages, or the
// name of a set that is built in. A name may have a label selector, as in "crash-loop:app=web". Stages of a file have
// selectors of their own.
func Parse(ctx context.Context, values []string) (*Choices, error) {
	c := &Choices{made: map[string]*Set{}}
	for _, value := range values {
		next := chosen{selector: labels.Everything()}
		name, selector, selects := strings.Cut(value, ":")
		_, isName := builtin[name]
		var err error
		switch {
		case !isName:
			next.set, err = readFile(ctx, value)
		case selects:
			if next.selector, err = labels.Parse(selector); err != nil {
				return nil, fmt.Errorf("%q: the label selector of the stages %s: %w", value, name, err)
			}
			fallthrough
		default:
			next.set, err = c.builtin(ctx, name)
		}
		if err != nil {
			return nil, err
		}
		c.chosen = append(c.chosen, next)
	}
	return c, nil
}

// builtin returns a set that is built in.
func (c *Choices) builtin(ctx context.Context, name string) (*Set, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if set := c.made[name]; set != nil {
		return set, nil
	}
	names, ok := builtin[name]
	if !ok {
		return nil, fmt.Errorf("the stages %q are unknown: must be one of %s", name, strings.Join(Names(), ", "))
	}
	var all []*internalversion.Stage
	for _, file := range names {
		text, err := files.ReadFile("builtin/" + file + ".yaml")
		if err != nil {
			return nil, err
		}
		read, err := decode(file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
	}
	set, err := newSet(ctx, name, all)
	if err != nil {
		return nil, err
	}
	c.made[name] = set
	return set, nil
}

// Of returns the set of an object: the one that its annotation names, the first one whose label selector selects it, or
// else Ready.
func (c *Choices) Of(ctx context.Context, kind string, o metav1.Object) (*Set, error) {
	if name := o.GetAnnotations()[Annotation]; name != "" {
		if set, err := c.builtin(ctx, name); err != nil || set.has(kind) {
			return set, err
		}
	}
	var all *Set
	for _, next := range c.chosen {
		switch {
		case !next.set.has(kind):
		case next.selector.Empty():
			all = next.set
		case next.selector.Matches(labels.Set(o.GetLabels())):
			return next.set, nil
		}
	}
	if all != nil {
		return all, nil
	}
	return c.builtin(ctx, Ready)
}
