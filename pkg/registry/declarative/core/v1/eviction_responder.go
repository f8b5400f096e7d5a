// Package v1 has the generated validation of the types of core/v1, with the checks that its markers name and that nothing
// generates. Don't call the package for a kind: the table of kinds registers it.
package v1

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ownPriorities is the number of priorities, from 0, that only responders of Kubernetes have (KEP-4563).
const ownPriorities = 1000

// ValidateCustom_EvictionResponder_Name refuses names in the domains of Kubernetes.
//
//nolint:revive // validation-gen makes calls of this name
func ValidateCustom_EvictionResponder_Name(_ context.Context, _ operation.Operation, path *field.Path, name, _ *string) field.ErrorList {
	if name == nil {
		return nil
	}
	prefix, _, _ := strings.Cut(*name, "/")
	domain := "." + strings.TrimRight(strings.TrimSpace(strings.ToLower(prefix)), ".")
	if strings.HasSuffix(domain, ".k8s.io") || strings.HasSuffix(domain, ".kubernetes.io") {
		return field.ErrorList{field.Invalid(path, *name, "domain names *.k8s.io, *.kubernetes.io are reserved")}
	}
	return nil
}

// ValidateCustom_EvictionResponder_Priority refuses priorities of Kubernetes.
//
//nolint:revive // validation-gen makes calls of this name
func ValidateCustom_EvictionResponder_Priority(_ context.Context, _ operation.Operation, path *field.Path, priority, _ *int32) field.ErrorList {
	if priority != nil && *priority >= 0 && *priority < ownPriorities {
		return field.ErrorList{field.Invalid(path, *priority, "priorities 0-999 are reserved for responders with *.k8s.io suffix")}
	}
	return nil
}
