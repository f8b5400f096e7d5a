package warnings

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ServedResource is a resource that requests can be made for, or a subresource of one.
type ServedResource struct {
	schema.GroupVersion
	// Name is as rules have it: pods, or pods/status. AnyResource stands for resources that aren't known.
	Name string
}

// AnyResource is the name of all that another server has.
const AnyResource = "*"
