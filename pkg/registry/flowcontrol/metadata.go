package flowcontrol

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keepMetadata returns a preparation of status updates that restores the metadata of the stored object, except for the
// managed fields. For other kinds, registry.Kind.StatusKeepsMetadata restores the parts that users can change.
func keepMetadata[T any](of func(T) *metav1.ObjectMeta) func(context.Context, T, T) {
	return func(_ context.Context, obj, old T) {
		m := of(obj)
		managed := m.ManagedFields
		of(old).DeepCopyInto(m)
		m.ManagedFields = managed
	}
}
