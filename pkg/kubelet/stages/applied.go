package stages

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// Object is the kind of the objects that are stages.
var Object = v1alpha1.GroupVersion.WithKind(v1alpha1.StageKind)

// applied are the stages that are objects of the API.
type applied struct {
	made   map[identity]*lifecycle.Stage // nil for a stage that concerns no object
	byKind map[schema.GroupVersionKind]lifecycle.Lifecycle
}

// identity identifies the spec of an object.
type identity struct {
	uid        types.UID
	generation int64
}

// Apply makes the stages that are objects of the API count, in place of those of the last call. It reports whether they
// differ. Invalid stages don't count, and invalid has the errors of those that are new.
func (c *Choices) Apply(ctx context.Context, objects []*v1alpha1.Stage) (changed bool, invalid map[*v1alpha1.Stage]error) {
	c.mu.Lock()
	before := c.applied.made
	c.mu.Unlock()
	invalid = map[*v1alpha1.Stage]error{}
	next := applied{made: map[identity]*lifecycle.Stage{}, byKind: map[schema.GroupVersionKind]lifecycle.Lifecycle{}}
	for _, object := range objects {
		id := identity{object.UID, object.Generation}
		stage, known := before[id]
		if !known {
			if converted, err := convert(object); err != nil {
				invalid[object] = err
			} else {
				stage = compile(ctx, converted)
			}
		}
		if next.made[id] = stage; stage != nil {
			kind := KindOf(object)
			next.byKind[kind] = append(next.byKind[kind], stage)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applied = next
	return !maps.Equal(before, next.made), invalid
}

// KindOf returns the kind of the objects that a stage concerns.
func KindOf(stage *v1alpha1.Stage) schema.GroupVersionKind {
	return kindOf(stage.Spec.ResourceRef.APIGroup, stage.Spec.ResourceRef.Kind)
}

func (c *Choices) appliedTo(kind schema.GroupVersionKind) lifecycle.Lifecycle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applied.byKind[kind]
}

// OtherKinds returns the kinds other than Pod and Node that have stages.
func (c *Choices) OtherKinds() []schema.GroupVersionKind {
	kinds := map[schema.GroupVersionKind]lifecycle.Lifecycle{}
	for _, chosen := range c.chosen {
		maps.Copy(kinds, chosen.set.stages)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(kinds, c.applied.byKind)
	delete(kinds, Pod)
	delete(kinds, Node)
	return slices.Collect(maps.Keys(kinds))
}
