// Package stages has the stages through which pods, nodes and other objects go. Stages are those of kwok
// (https://kwok.sigs.k8s.io): its types, its expressions, and its lifecycle engine.
//
// [Parse] reads the values of the flag --stages, and returns the [Choices] by which an object gets its stages.
// [Choices.Apply] adds the Stage objects of the API.
package stages

import (
	"cmp"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/miniapi-dev/miniapi/pkg/kubelet/answers"
)

// Annotation is the annotation of an object with the name of its set of stages.
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
	stages map[schema.GroupVersionKind]lifecycle.Lifecycle
	// otherwise is the set of the objects that no stage of this set concerns. It may be nil.
	otherwise *Set
	// answers has what the containers of pods answer. It may be nil.
	answers *answers.Set
}

// Next returns the stage that an object of a kind comes to next, or nil.
func (s *Set) Next(ctx context.Context, kind schema.GroupVersionKind, event *lifecycle.Event) *lifecycle.Stage {
	celTypes.RLock()
	defer celTypes.RUnlock()
	for ; s != nil; s = s.otherwise {
		if stage := match(ctx, s.stages[kind], event); stage != nil {
			return stage
		}
	}
	return nil
}

// match returns one of the stages that concern an object, or nil. A stage whose selector or weight can't be evaluated, as
// when an expression needs a field that the object lacks, doesn't concern the object.
func match(ctx context.Context, all lifecycle.Lifecycle, event *lifecycle.Event) *lifecycle.Stage {
	stage, err := all.Match(ctx, event)
	if err == nil {
		return stage
	}
	all = slices.DeleteFunc(slices.Clone(all), func(one *lifecycle.Stage) bool {
		_, err := lifecycle.Lifecycle{one}.ListAllPossible(ctx, event)
		if err == nil {
			_, _, err = one.Weight(ctx, event)
		}
		if err != nil {
			klog.FromContext(ctx).V(1).Info("a stage can't be evaluated, and doesn't concern the object", "stage", one.Name(), "err", err)
		}
		return err != nil
	})
	stage, _ = all.Match(ctx, event) // the stages with errors are left out
	return stage
}

// Delay returns the time for which a stage waits for an object.
func Delay(ctx context.Context, stage *lifecycle.Stage, event *lifecycle.Event, now time.Time) (time.Duration, error) {
	celTypes.RLock()
	defer celTypes.RUnlock()
	delay, _, err := stage.Delay(ctx, event, now)
	return delay, err
}

// has reports whether the set has stages of a kind.
func (s *Set) has(kind schema.GroupVersionKind) bool { return s != nil && len(s.stages[kind]) > 0 }

// Kinds of the objects that kubelets have.
var (
	Pod  = corev1.SchemeGroupVersion.WithKind("Pod")
	Node = corev1.SchemeGroupVersion.WithKind("Node")
)

// kindOf returns the kind to which a stage refers. What kwok calls the API group also has the version.
func kindOf(group, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(cmp.Or(group, "v1"), kind)
}

// sampleOf returns an object of a kind, as it is given to expressions and templates.
func sampleOf(kind schema.GroupVersionKind) any {
	switch kind {
	case Pod:
		return &corev1.Pod{}
	case Node:
		return &corev1.Node{}
	}
	return &unstructured.Unstructured{Object: map[string]any{}}
}

// compile makes a checked stage ready for use. It returns nil for a stage without a selector, which concerns no object.
func compile(ctx context.Context, stage *internalversion.Stage) *lifecycle.Stage {
	made := lifecycle.NewStage(stage)
	if made == nil {
		return nil
	}
	celTypes.Lock()
	defer celTypes.Unlock()
	// The first evaluation compiles the expressions. It may fail for want of the fields of a real object.
	sample := sampleOf(kindOf(stage.Spec.ResourceRef.APIGroup, stage.Spec.ResourceRef.Kind))
	_, _ = lifecycle.Lifecycle{made}.ListAllPossible(ctx, &lifecycle.Event{Data: sample})
	return made
}

// newSet makes a set of checked stages.
func newSet(ctx context.Context, name string, all []*internalversion.Stage) *Set {
	set := &Set{Name: name, stages: map[schema.GroupVersionKind]lifecycle.Lifecycle{}}
	for _, stage := range all {
		if made := compile(ctx, stage); made != nil {
			kind := kindOf(stage.Spec.ResourceRef.APIGroup, stage.Spec.ResourceRef.Kind)
			set.stages[kind] = append(set.stages[kind], made)
		}
	}
	return set
}

// Choices has the sets that objects have.
type Choices struct {
	chosen []chosen // in the order of the flags

	mu      sync.Mutex
	made    map[string]*Set // those that are built in and have been needed
	applied applied
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
		read, _, err := decode(file, text)
		if err != nil {
			return nil, err
		}
		all = append(all, read...)
	}
	set := newSet(ctx, name, all)
	c.made[name] = set
	return set, nil
}

// Of returns the set of an object: the one that its annotation names, the first one whose label selector selects it, or
// else the set of all objects of the kind. That set has the Stage objects together with the last set of the flags for all
// objects. In place of the latter, without one, Ready has the objects that no Stage object concerns.
func (c *Choices) Of(ctx context.Context, kind schema.GroupVersionKind, o metav1.Object) (*Set, error) {
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
	var otherwise *Set
	if all == nil {
		var err error
		if otherwise, err = c.builtin(ctx, Ready); err != nil {
			return nil, err
		}
	}
	switch applied := c.appliedTo(kind); {
	case len(applied) > 0 && all != nil:
		return &Set{stages: map[schema.GroupVersionKind]lifecycle.Lifecycle{kind: slices.Concat(all.stages[kind], applied)}}, nil
	case len(applied) > 0:
		return &Set{stages: map[schema.GroupVersionKind]lifecycle.Lifecycle{kind: applied}, otherwise: otherwise}, nil
	case all != nil:
		return all, nil
	}
	return otherwise, nil
}

// Answers returns what the files of the flags say that containers answer.
func (c *Choices) Answers() *answers.Set {
	all := &answers.Set{}
	for _, chosen := range c.chosen {
		if chosen.set.answers != nil {
			all.Append(chosen.set.answers)
		}
	}
	return all
}
