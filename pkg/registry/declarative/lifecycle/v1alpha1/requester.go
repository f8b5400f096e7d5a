// Package v1alpha1 has the generated validation of the types of lifecycle/v1alpha1, with the check that its markers name
// and that nothing generates. Don't call the package for a kind: the table of kinds registers it.
package v1alpha1

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1 "github.com/miniapi-dev/miniapi/pkg/registry/declarative/core/v1"
)

// ValidateCustom_EvictionRequestSpec_Requester refuses names in the domains of Kubernetes.
//
//nolint:revive // validation-gen makes calls of this name
func ValidateCustom_EvictionRequestSpec_Requester(ctx context.Context, op operation.Operation, path *field.Path, requester, old *string) field.ErrorList {
	return corev1.ValidateCustom_EvictionResponder_Name(ctx, op, path, requester, old)
}
