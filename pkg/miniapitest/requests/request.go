// Package requests makes one request of the Kubernetes API from a description: an object, the object before the request,
// an operation, a subresource, options and a user. [New] checks the description against the resources of a server,
// [Maker.Prepare] stores the objects that the request needs, and [Maker.Make] makes the request. "miniapi review" and the
// cases of admission tests are such requests.
//
// Don't use the package with a server that has other users, because it creates everything that a request needs.
package requests

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Request describes a request of the API.
type Request struct {
	// Operation is CREATE, UPDATE, DELETE or CONNECT. If it is empty, it follows from the other fields.
	Operation admissionv1.Operation
	// Objects has the object of the request. The deletion of a Collection may have several objects. A Patch has no
	// object, except for an apply configuration.
	Objects []*unstructured.Unstructured
	// Old is the object before an update; by default, it is equal to the object of the request. If the object of the
	// request belongs to a subresource, such as a Scale, an Eviction or PodExecOptions, Old is the object of the parent
	// resource.
	Old *unstructured.Unstructured
	// Collection, if true, makes one request that deletes all objects. Admission reviews each object.
	Collection bool
	// Patch, if it isn't nil, is the patch that the request sends: a patch of Old, or a server-side apply.
	Patch *Patch
	// Subresource is the subresource of the request, or "". It can be empty for an object that only one subresource takes,
	// such as an Eviction.
	Subresource string
	// Name is the name in the path of a CONNECT request, such as the name of a service with a scheme and a port. By
	// default, it is the object's name.
	Name string
	// Namespace is the namespace for objects that don't name a namespace.
	Namespace string
	// NamespaceLabels are labels of the namespace of the request, besides those that it has.
	NamespaceLabels map[string]string
	Options         Options
	// As is the user of the request. Without a name, the admin makes the request.
	As rest.ImpersonationConfig
	// AuditID, if set, is the id of the request in the audit log and in the trace.
	AuditID string
}

// Patch is a patch of an object.
type Patch struct {
	Type types.PatchType
	Body []byte
}

// InputError is the error of a description that doesn't fit the server, or whose fields don't fit each other.
type InputError struct {
	// text has the names of fields in braces, such as {old}.
	text string
}

// Error implements error.
func (e InputError) Error() string { return e.Named(func(field string) string { return field }) }

// Named returns the text of the error with other names of the fields, such as those of flags.
func (e InputError) Named(name func(field string) string) string {
	var text strings.Builder
	rest := e.text
	for {
		before, after, found := strings.Cut(rest, "{")
		text.WriteString(before)
		field, behind, closed := strings.Cut(after, "}")
		if !found || !closed {
			return text.String()
		}
		text.WriteString(name(field))
		rest = behind
	}
}

func unfit(format string, args ...any) error { return InputError{fmt.Sprintf(format, args...)} }

// Check returns an error if the fields of the request don't fit each other. [New] also checks the request against its
// server.
func (r Request) Check() error {
	if r.Operation != "" && !oneOf(string(r.Operation), operations()) {
		return unfit("{operation} %q: must be CREATE, UPDATE, DELETE or CONNECT", r.Operation)
	}
	if r.Collection && r.Operation != "" && r.Operation != admissionv1.Delete {
		return unfit("{collection}: {operation} must be DELETE, got %s", r.Operation)
	}
	if r.Patch != nil && r.Patch.Type != types.ApplyPatchType && r.Old == nil {
		return unfit("{patch}: give {old} too, with the object that is patched")
	}
	if r.Patch != nil && r.Collection {
		return unfit("{patch} and {collection}: give one of them, because {patch} is for an UPDATE and {collection} for a DELETE")
	}
	if r.As.UserName == "" && (len(r.As.Groups) > 0 || len(r.As.Extra) > 0 || r.As.UID != "") {
		return unfit("{groups}, {uid} or {extra}: give {user} too, with the user")
	}
	return r.sameCollection()
}

// sameCollection returns an error if there are several objects without Collection, or if the objects differ in their
// kind or namespace. It also returns an error if an object names another namespace than the request.
func (r Request) sameCollection() error {
	if len(r.Objects) > 1 && !r.Collection {
		return unfit("{object}: must have one object, got %d: {collection} deletes several", len(r.Objects))
	}
	for _, object := range r.Objects {
		first := r.Objects[0]
		if object.GroupVersionKind() != first.GroupVersionKind() || object.GetNamespace() != first.GetNamespace() {
			return unfit("{object}: a collection has objects of one kind in one namespace, got a %s in %q and a %s in %q",
				first.GetKind(), first.GetNamespace(), object.GetKind(), object.GetNamespace())
		}
	}
	for _, object := range append(r.Objects[:len(r.Objects):len(r.Objects)], r.Old) {
		if object != nil && r.Namespace != "" && object.GetNamespace() != "" && object.GetNamespace() != r.Namespace {
			return unfit("{namespace} %q: must be the namespace of the object, %q", r.Namespace, object.GetNamespace())
		}
	}
	return nil
}
