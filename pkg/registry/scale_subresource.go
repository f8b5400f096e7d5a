package registry

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry/printers"
	"github.com/miniapi-dev/miniapi/pkg/registry/validation"
)

// Scaled has the parts of a workload that its Scale shows and sets.
type Scaled struct {
	Replicas **int32
	Current  int32
	Selector *metav1.LabelSelector
}

// ScaleSubresource returns the subresource scale of the kind T. The argument "of" returns the numbers of replicas and
// the selector of an object.
func ScaleSubresource[T runtime.Object](of func(T) Scaled) Subresource {
	return Subresource{Name: "scale", Storage: func(main *Storage, _ Dependencies) (rest.Storage, error) {
		return &scaleREST{
			TableConvertor: printers.TableConvertor(printers.Scale),
			store:          main.Store, typer: main.Strategy, versions: main.Strategy.Versions,
			of: func(o runtime.Object) Scaled { return of(o.(T)) },
		}, nil
	}}
}

type scaleREST struct {
	rest.TableConvertor
	store    *genericregistry.Store
	typer    runtime.ObjectTyper
	versions []schema.GroupVersion
	of       func(runtime.Object) Scaled
}

var (
	_ rest.Patcher                  = &scaleREST{}
	_ rest.GroupVersionKindProvider = &scaleREST{}
	_ rest.TableConvertor           = &scaleREST{}
)

func (r *scaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing, because the main endpoint destroys the store.
func (r *scaleREST) Destroy() {}

// GroupVersionKind returns the kind Scale in the group version of the workload. If the group version has no Scale,
// GroupVersionKind returns the kind Scale in autoscaling/v1.
func (r *scaleREST) GroupVersionKind(containing schema.GroupVersion) schema.GroupVersionKind {
	if own := containing.WithKind("Scale"); r.typer.Recognizes(own) {
		return own
	}
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

func (r *scaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.scale(obj)
}

func (r *scaleREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	obj, _, err := r.store.Update(ctx, name, &scaleObjectInfo{rest: r, scale: objInfo},
		func(ctx context.Context, obj runtime.Object) error {
			scale, err := r.scale(obj)
			if err != nil {
				return err
			}
			return createValidation(ctx, scale)
		},
		func(ctx context.Context, obj, old runtime.Object) error {
			scale, err := r.scale(obj)
			if err != nil {
				return err
			}
			oldScale, err := r.scale(old)
			if err != nil {
				return err
			}
			return updateValidation(ctx, scale, oldScale)
		}, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.scale(obj)
	return scale, false, err
}

// scale returns the Scale of an object.
func (r *scaleREST) scale(obj runtime.Object) (*autoscalingv1.Scale, error) {
	s, m := r.of(obj), MetaOf(obj)
	selector, err := metav1.LabelSelectorAsSelector(s.Selector)
	if err != nil {
		return nil, fmt.Errorf("selector of %s/%s: %w", m.GetNamespace(), m.GetName(), err)
	}
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.GetName(), Namespace: m.GetNamespace(), UID: m.GetUID(),
			ResourceVersion: m.GetResourceVersion(), CreationTimestamp: m.GetCreationTimestamp(),
		},
		Status: autoscalingv1.ScaleStatus{Replicas: s.Current, Selector: selector.String()},
	}
	if *s.Replicas != nil {
		scale.Spec.Replicas = **s.Replicas
	}
	return scale, nil
}

// managedFields returns a converter of managed fields between an object and its Scale. It converts only the field
// with the number of replicas.
func (r *scaleREST) managedFields(ctx context.Context, m metav1.Object) *managedfields.ScaleHandler {
	paths := managedfields.ResourcePathMappings{}
	for _, gv := range r.versions {
		paths[gv.String()] = fieldpath.MakePathOrDie("spec", "replicas")
	}
	return managedfields.NewScaleHandler(m.GetManagedFields(), RequestVersion(ctx), paths)
}

// scaleObjectInfo is the update of an object that follows from an update of its Scale.
type scaleObjectInfo struct {
	rest  *scaleREST
	scale rest.UpdatedObjectInfo
}

func (i *scaleObjectInfo) Preconditions() *metav1.Preconditions { return i.scale.Preconditions() }

func (i *scaleObjectInfo) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj := old.DeepCopyObject()
	oldScale, err := i.rest.scale(obj)
	if err != nil {
		return nil, err
	}
	// The method scale sets no managed fields, but an update of the Scale needs the managed fields.
	m := MetaOf(obj)
	handler := i.rest.managedFields(ctx, m)
	if oldScale.ManagedFields, err = handler.ToSubresource(); err != nil {
		return nil, err
	}
	updated, err := i.scale.UpdatedObject(ctx, oldScale)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected input object type to be Scale, but %T", updated))
	}
	if errs := validation.Scale(scale); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: autoscalingv1.GroupName, Kind: "Scale"}, m.GetName(), errs)
	}
	if scale.UID != "" && scale.UID != m.GetUID() {
		resource := i.rest.store.DefaultQualifiedResource
		resource.Resource += "/scale"
		return nil, apierrors.NewConflict(resource, m.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, m.GetUID()))
	}
	*i.rest.of(obj).Replicas = &scale.Spec.Replicas
	if scale.ResourceVersion != "" {
		m.SetResourceVersion(scale.ResourceVersion)
	}
	managed, err := handler.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	m.SetManagedFields(managed)
	return obj, nil
}
