package warnings

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ServedResource is a resource or a subresource that the server serves.
type ServedResource struct {
	schema.GroupVersion
	// Name is in the form of webhook rules: pods or pods/status. For unknown resources, Name is AnyResource.
	Name string
}

// AnyResource stands for all resources of another server.
const AnyResource = "*"
