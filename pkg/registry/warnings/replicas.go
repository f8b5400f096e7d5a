package warnings

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OfReplicas returns a function that returns the warnings of a workload that keeps a number of pods. The names of
// the pods are derived from the name of the workload. The argument "template" returns the pod template of a
// workload, or nil. The argument "old" of the returned function is nil on create.
func OfReplicas[T interface {
	comparable
	metav1.Object
}](template func(T) *corev1.PodTemplateSpec) func(ctx context.Context, obj, old T) []string {
	return func(_ context.Context, obj, old T) []string {
		var l List
		var none T
		if old == none {
			l.PodName(obj.GetName())
		}
		if t := template(obj); t != nil && (old == none || Changed(obj, old)) {
			l.PodTemplate(TemplatePath, t)
		}
		return l
	}
}
