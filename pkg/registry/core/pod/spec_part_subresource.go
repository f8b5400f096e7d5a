package pod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// podPart is a part of a pod's spec that has a subresource of its own. An update of the subresource changes only
// that part.
type podPart struct {
	// take copies the part from asked, which is the spec in the request, to spec.
	take     func(spec, asked *corev1.PodSpec)
	validate func(pod, old *corev1.Pod) field.ErrorList
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
	return s.InForce(append(s.part.validate(obj.(*corev1.Pod), old.(*corev1.Pod)), s.ValidateShape(obj)...))
}

func (s podPartStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// GetResetFields returns nothing: as in kube-apiserver, the client owns all fields that it sends, also those that the
// subresource doesn't change.
func (podPartStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set { return nil }
