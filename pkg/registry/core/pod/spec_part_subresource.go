package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// podPart is a part of a pod's spec that has a subresource of its own. An update of the subresource changes only
// that part.
type podPart struct {
	// fields are the paths of the part's fields, such as spec.ephemeralContainers.
	fields [][]any
	// take copies the part from asked, which is the spec in the request, to spec.
	take     func(spec, asked *corev1.PodSpec)
	validate func(pod, old *corev1.Pod) field.ErrorList
}

// wrap returns the storage of the subresource.
func (p podPart) wrap(part registry.ObjectPart, s registry.Strategy) (rest.Storage, error) {
	owned := make([]*fieldpath.SetMatcher, len(p.fields))
	for i, path := range p.fields {
		matcher, err := fieldpath.PrefixMatcher(path...)
		if err != nil {
			return nil, err
		}
		owned[i] = matcher
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	for _, gv := range s.Versions {
		filters[fieldpath.APIVersion(gv.String())] = fieldpath.NewIncludeMatcherFilter(owned...)
	}
	return podPartREST{pods: part, filters: filters}, nil
}

func (p podPart) update(s registry.Strategy) registry.UpdateStrategy { return podPartStrategy{s, p} }

// podPartStrategy is the update strategy of a subresource such as pods/resize. An update changes only the part of the
// spec.
type podPartStrategy struct {
	registry.Strategy
	part podPart
}

func (s podPartStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	pod, was := obj.(*corev1.Pod), old.(*corev1.Pod)
	spec := was.Spec.DeepCopy()
	s.part.take(spec, &pod.Spec)
	pod.Spec = *spec
	s.DropGated(pod, was)
	pod.Status = was.Status
	metav1.ResetObjectMetaForStatus(pod, was)
	if s.SpecChanged(pod, was) {
		pod.Generation++
	}
}

func (s podPartStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return append(s.part.validate(obj.(*corev1.Pod), old.(*corev1.Pod)), s.ValidateShape(obj)...)
}

func (s podPartStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// podPartREST serves get and update of a subresource such as pods/resize. For server-side apply, it lists the fields
// that an apply owns. Other subresources list the fields that an apply never owns.
type podPartREST struct {
	pods    registry.ObjectPart
	filters map[fieldpath.APIVersion]fieldpath.Filter
}

var (
	_ rest.Patcher                   = podPartREST{}
	_ rest.ResetFieldsFilterStrategy = podPartREST{}
	_ rest.TableConvertor            = podPartREST{}
)

func (r podPartREST) New() runtime.Object { return r.pods.New() }

// Destroy does nothing, because the storage of pods destroys the store.
func (r podPartREST) Destroy() {}

func (r podPartREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.pods.Get(ctx, name, options)
}

func (r podPartREST) Update(ctx context.Context, name string, objInfo rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.pods.Update(ctx, name, objInfo, createValidation, updateValidation, force, options)
}

func (r podPartREST) GetResetFieldsFilter() map[fieldpath.APIVersion]fieldpath.Filter {
	return r.filters
}

func (r podPartREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.pods.ConvertToTable(ctx, object, options)
}
