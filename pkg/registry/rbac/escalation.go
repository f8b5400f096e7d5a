package rbac

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// guarded adds a check to hooks: a role or a binding must not grant more than its author has.
type guarded struct {
	*registry.Storage
	escalation registry.Escalation
}

var _ rest.StandardStorage = &guarded{}

func newGuarded(main *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	if deps.Escalation == nil {
		return main, nil
	}
	return &guarded{main, deps.Escalation}, nil
}

func (g *guarded) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if err := g.escalation.Check(ctx, obj, nil); err != nil {
		return nil, err
	}
	return g.Storage.Create(ctx, obj, validate, options)
}

func (g *guarded) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	checked := rest.WrapUpdatedObjectInfo(objInfo, func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
		// The old object of an update that creates is empty.
		if registry.MetaOf(old).GetUID() == "" {
			old = nil
		}
		return obj, g.escalation.Check(ctx, obj, old)
	})
	return g.Storage.Update(ctx, name, checked, createValidation, updateValidation, forceAllowCreate, options)
}
