package traceclient

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
)

// Object names an object, or all objects of a resource.
type Object struct{ Resource, Namespace, Name string }

// ParseObject parses RESOURCE, RESOURCE/NAME or RESOURCE/NAMESPACE/NAME. The argument namespace is the namespace of the
// object if the text has none.
func ParseObject(text, namespace string) (Object, error) {
	parts := strings.Split(text, "/")
	if text != "" && slices.Contains(parts, "") || len(parts) > 3 {
		return Object{}, errors.New("must be RESOURCE, RESOURCE/NAME, such as pods/web, or RESOURCE/NAMESPACE/NAME")
	}
	object := Object{Resource: parts[0], Namespace: namespace}
	if len(parts) > 1 {
		object.Name = parts[len(parts)-1]
	}
	if len(parts) > 2 {
		object.Namespace = parts[1]
	}
	return object, nil
}

// about adds to a request the parameters that name an object.
func (c *Client) about(request *rest.Request, object Object) *rest.Request {
	return request.Param("resource", object.Resource).Param("namespace", object.Namespace).Param("name", object.Name)
}
