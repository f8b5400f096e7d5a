package resource

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/miniapi-dev/miniapi/pkg/registry"
)

// requestedAdminAccess returns the path of the field adminAccess in the first request that sets it, or nil.
func requestedAdminAccess(requests []resourcev1.DeviceRequest) *field.Path {
	for i, r := range requests {
		if r.Exactly != nil && ptr.Deref(r.Exactly.AdminAccess, false) {
			return field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess")
		}
	}
	return nil
}

// allowAdminAccess refuses the field adminAccess at the path, unless the namespace has the label that
// allows it (KEP-5018). If the path is nil, there is nothing to refuse.
func allowAdminAccess(ctx context.Context, deps registry.Dependencies, namespace string, path *field.Path) field.ErrorList {
	if path == nil {
		return nil
	}
	found, err := deps.Get(ctx, corev1.Resource("namespaces"), namespace)
	if err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("could not retrieve namespace to verify admin access: %w", err))}
	}
	if registry.MetaOf(found).GetLabels()[resourcev1.DRAAdminNamespaceLabelKey] != "true" {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"admin access to devices requires the `%s: true` label on the containing namespace", resourcev1.DRAAdminNamespaceLabelKey))}
	}
	return nil
}
