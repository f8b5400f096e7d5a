package rbac

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// Escalation returns an error if a role or a binding grants more permissions than the user of the request has. ctx is
// the context of the request. The argument "old" is nil on create. A nil Escalation allows everything.
type Escalation func(ctx context.Context, obj, old runtime.Object) error

// guarded is the storage of roles or bindings. It checks that a role or a binding grants no more permissions than
// its author has.
type guarded struct {
	*registry.Storage
	check Escalation
}

var _ rest.StandardStorage = &guarded{}

func newGuarded(main *registry.Storage, deps registry.Dependencies) (rest.Storage, error) {
	check := registry.PartOf[Escalation](deps)
	if check == nil {
		return main, nil
	}
	return &guarded{main, check}, nil
}

func (g *guarded) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	if err := g.check(ctx, obj, nil); err != nil {
		return nil, err
	}
	return g.Storage.Create(ctx, obj, validate, options)
}

func (g *guarded) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	checked := rest.WrapUpdatedObjectInfo(objInfo, func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
		// If an update creates the object, old is an empty object. An Escalation expects nil instead.
		if registry.MetaOf(old).GetUID() == "" {
			old = nil
		}
		return obj, g.check(ctx, obj, old)
	})
	return g.Storage.Update(ctx, name, checked, createValidation, updateValidation, forceAllowCreate, options)
}
