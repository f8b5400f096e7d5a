// Package resources reads discovery documents for tools that explain admission. For each resource and subresource, it
// gives the admission operations and the path of requests. [Of] reads the documents.
//
// Don't use the package to handle a request: RequestInfo of k8s.io/apiserver has the request's resource and verb.
package resources

import (
	"cmp"
	"path"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a resource or a subresource in discovery documents.
type Resource struct {
	schema.GroupVersionResource
	// Subresource is "" for a resource.
	Subresource string
	// Kind is the kind in discovery: of the objects or, for a subresource, of its requests, such as Scale.
	Kind       schema.GroupVersionKind
	Namespaced bool
	Verbs      []string
}

// Of returns the resources and subresources of discovery documents, in the order of the documents.
func Of(lists []*metav1.APIResourceList) []Resource {
	var all []Resource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // requests and rules can name only versions that can be parsed
		}
		for _, listed := range list.APIResources {
			name, subresource, _ := strings.Cut(listed.Name, "/")
			all = append(all, Resource{
				GroupVersionResource: version.WithResource(name), Subresource: subresource,
				Kind: schema.GroupVersionKind{Group: cmp.Or(listed.Group, version.Group),
					Version: cmp.Or(listed.Version, version.Version), Kind: listed.Kind},
				Namespaced: listed.Namespaced, Verbs: listed.Verbs,
			})
		}
	}
	return all
}

// String returns the name of the resource or the subresource, such as deployments.apps/scale.
func (r Resource) String() string {
	if r.Subresource == "" {
		return r.GroupResource().String()
	}
	return r.GroupResource().String() + "/" + r.Subresource
}

// Connects tells whether requests for the subresource have the operation CONNECT. The kind of such a subresource is in
// the core group, and its name ends with Options, as in PodExecOptions. The kind of a custom resource may end with
// Options, too, but it isn't in the core group. So requests for the subresource status of the custom resource are
// updates.
func (r Resource) Connects() bool {
	return r.Subresource != "" && r.Kind.Group == "" && strings.HasSuffix(r.Kind.Kind, "Options")
}

// operations has the operations of admission except for CONNECT, each with the verbs of discovery that lead to the
// operation.
var operations = []struct {
	operation admissionv1.Operation
	verbs     []string
}{
	{admissionv1.Create, []string{"create"}},
	{admissionv1.Update, []string{"update", "patch"}},
	{admissionv1.Delete, []string{"delete", "deletecollection"}},
}

// Operations returns the admission operations of the requests for the resource or the subresource. It returns nil if
// all requests only read.
func (r Resource) Operations() []admissionv1.Operation {
	if r.Connects() {
		return []admissionv1.Operation{admissionv1.Connect}
	}
	var all []admissionv1.Operation
	for _, each := range operations {
		if slices.ContainsFunc(each.verbs, func(verb string) bool { return slices.Contains(r.Verbs, verb) }) {
			all = append(all, each.operation)
		}
	}
	return all
}

// Path returns the path of a resource in the API. The namespace is "" for a resource without namespaces. With elements,
// the path is that of an object or of a subresource; empty elements don't count.
func Path(of schema.GroupVersionResource, namespace string, elements ...string) string {
	parts := []string{"/apis", of.Group, of.Version}
	if of.Group == "" {
		parts = []string{"/api", of.Version}
	}
	if namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	return path.Join(append(append(parts, of.Resource), elements...)...)
}
