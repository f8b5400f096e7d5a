package requests

import (
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace/resources"
)

// target is the resource or subresource of a request, and the object there.
type target struct {
	at resources.Resource
	// stored is the resource of the request's Old or, without Old, of its object. It is nil if that object is the body of
	// a request for a subresource, such as an Eviction.
	stored *resources.Resource
	// namespace and name are the namespace and the name in the path of the request.
	namespace, name string
}

// path returns the path of a resource in the namespace of the request. With elements, it is the path of an object or of
// a subresource.
func (t target) path(of resources.Resource, elements ...string) string {
	namespace := ""
	if of.Namespaced {
		namespace = t.namespace
	}
	return resources.Path(of.GroupVersionResource, namespace, elements...)
}

// object returns the path of the request's object or subresource.
func (t target) object() string { return t.path(t.at, t.name, t.at.Subresource) }

// nameless tells whether objects of the resource, such as TokenReviews, have no name: the server doesn't store them. It
// is for resources, not for subresources.
func (t target) nameless() bool { return !t.readable() }

// readable tells whether the server answers a GET of the object or the subresource.
func (t target) readable() bool { return slices.Contains(t.at.Verbs, "get") }

// Catalog has all resources and subresources of the server.
type Catalog []resources.Resource

// NewCatalog returns the catalog of discovery documents.
func NewCatalog(lists []*metav1.APIResourceList) Catalog {
	all := Catalog(resources.Of(lists))
	slices.SortFunc(all, func(a, b resources.Resource) int { // discovery has no order of groups
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Subresource, b.Subresource), -version.CompareKubeAwareVersionStrings(a.Version, b.Version))
	})
	return all
}

// resource returns the resource of a kind.
func (c Catalog) resource(kind schema.GroupVersionKind) (resources.Resource, bool) {
	i := slices.IndexFunc(c, func(s resources.Resource) bool { return s.Subresource == "" && s.Kind == kind })
	if i < 0 {
		return resources.Resource{}, false
	}
	return c[i], true
}

// subresources returns the subresources for which the function fit returns true: subresources of the resource in the
// argument "of", or of all resources if that argument is nil.
func (c Catalog) subresources(of *resources.Resource, fit func(resources.Resource) bool) []resources.Resource {
	var found []resources.Resource
	for _, s := range c {
		if s.Subresource != "" && (of == nil || s.GroupVersionResource == of.GroupVersionResource) && fit(s) {
			found = append(found, s)
		}
	}
	return found
}

// target finds the resource or subresource of the request by the kinds of the objects.
func (r Request) target(c Catalog) (target, error) {
	if r.Old == nil {
		return r.targetOf(c, r.Objects[0])
	}
	stored, found := c.resource(r.Old.GroupVersionKind())
	if !found {
		return target{}, c.unknownKind("{old}", r.Old)
	}
	if len(r.Objects) == 0 { // a patch doesn't name its kind
		return r.within(c, stored, &stored)
	}
	body := r.Objects[0]
	if asked, found := c.resource(body.GroupVersionKind()); found && asked.GroupResource() == stored.GroupResource() || found && body.GetKind() == r.Old.GetKind() {
		return r.within(c, asked, &stored) // the two objects may be in different versions of the resource
	}
	fitting := c.subresources(&stored, func(s resources.Resource) bool {
		return s.Kind.Kind == body.GetKind() && (r.Subresource == "" || r.Subresource == s.Subresource)
	})
	if len(fitting) == 1 {
		return target{at: fitting[0], stored: &stored}, nil
	}
	return target{}, unfit("{object} has a %s, and {old} a %s: both must be of one kind, or {object} must be of a subresource of %s: %s",
		body.GetKind(), r.Old.GetKind(), stored, c.namesOf(stored))
}

// targetOf finds the target of a request with one object.
func (r Request) targetOf(c Catalog, body *unstructured.Unstructured) (target, error) {
	resource, found := c.resource(body.GroupVersionKind())
	if found && (r.Subresource == "" || len(c.subresources(&resource, r.named)) > 0) {
		return r.within(c, resource, &resource)
	}
	fitting := c.subresources(nil, func(s resources.Resource) bool {
		return s.Kind == body.GroupVersionKind() && (r.Subresource == "" || r.named(s))
	})
	switch {
	case len(fitting) == 1:
		return target{at: fitting[0]}, nil
	case len(fitting) > 1:
		var names []string
		for _, s := range fitting {
			names = append(names, s.String())
		}
		return target{}, unfit("{object}: a %s may be of %s: give {old} too, with the stored object", body.GetKind(), orList(names))
	case found:
		return r.within(c, resource, &resource) // within returns an error that names the subresources
	}
	return target{}, c.unknownKind("{object}", body)
}

func (r Request) named(s resources.Resource) bool { return s.Subresource == r.Subresource }

// within returns the target of a request for a resource. If the request names a subresource, the target is that
// subresource of the resource.
func (r Request) within(c Catalog, resource resources.Resource, stored *resources.Resource) (target, error) {
	if r.Subresource == "" {
		return target{at: resource, stored: stored}, nil
	}
	if found := c.subresources(&resource, r.named); len(found) > 0 {
		return target{at: found[0], stored: stored}, nil
	}
	return target{}, unfit("{subresource} %q: must be a subresource of %s: %s", r.Subresource, resource, c.namesOf(resource))
}

// Versions returns the groups and versions in which the server has a resource or subresource with the same name and
// kind.
func (c Catalog) Versions(of resources.Resource) []string {
	var all []string
	for _, s := range c {
		if s.Resource == of.Resource && s.Subresource == of.Subresource && s.Kind.Kind == of.Kind.Kind {
			all = append(all, s.GroupVersion().String())
		}
	}
	return all
}

// namesOf returns the names of the subresources of a resource, as a list in a text.
func (c Catalog) namesOf(resource resources.Resource) string {
	var names []string
	for _, s := range c.subresources(&resource, func(resources.Resource) bool { return true }) {
		names = append(names, s.Subresource)
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(names, ", "), "none")
}

// unknownKind returns the error for an object of a kind that the server doesn't have in the object's version.
func (c Catalog) unknownKind(field string, object *unstructured.Unstructured) error {
	var versions []string
	for _, r := range c {
		if r.Subresource == "" && r.Kind.Kind == object.GetKind() {
			versions = append(versions, r.Kind.GroupVersion().String())
		}
	}
	remedy := "give the definition of a custom resource by {installs}"
	if len(versions) > 0 {
		remedy = "must be in " + orList(versions)
	}
	return unfit("%s: the server has no kind %s in %s: %s", field, object.GetKind(), object.GetAPIVersion(), remedy)
}

// decide sets the operation of the request if the request doesn't give an operation. It returns an error if the target
// doesn't support the operation, or if other fields of the request contradict the operation.
func (r *Request) decide(t target) error {
	var possible []string
	for _, operation := range t.at.Operations() {
		possible = append(possible, string(operation))
	}
	has := func(operation admissionv1.Operation) bool { return oneOf(string(operation), possible) }
	if r.Operation == "" {
		switch {
		case t.at.Connects():
			r.Operation = admissionv1.Connect
		case r.Collection:
			r.Operation = admissionv1.Delete
		case r.Old != nil && has(admissionv1.Update):
			r.Operation = admissionv1.Update
		case t.at.Subresource != "" && !has(admissionv1.Create):
			r.Operation = admissionv1.Update
		default:
			r.Operation = admissionv1.Create
		}
	}
	switch {
	case !has(r.Operation):
		return unfit("{operation} %s: must be an operation of %s: %s", r.Operation, t.at, cmp.Or(orList(possible), "none"))
	case r.Collection && !slices.Contains(t.at.Verbs, "deletecollection"):
		return unfit("{collection}: leave it out, because %s can't be deleted as a collection", t.at)
	case r.Operation == admissionv1.Create && t.at.Subresource == "" && r.Old != nil:
		return unfit("{old}: leave it out, or give {operation} UPDATE, because a created object has no earlier state")
	case r.Patch != nil && r.Old == nil && r.Operation != admissionv1.Create:
		return unfit("{operation} %s: give {old} too, with the object that is patched", r.Operation)
	case r.Patch != nil && r.Old != nil && r.Operation != admissionv1.Update:
		return unfit("{operation} %s: must be UPDATE, because {old} is patched", r.Operation)
	case r.Operation == admissionv1.Create && r.Patch == nil && r.Objects[0].GetKind() != t.at.Kind.Kind:
		return unfit("{object}: %s takes the kind %s, got %[3]s: give the %[2]s by {object}, and the %[3]s by {old}", t.at, t.at.Kind.Kind, r.Objects[0].GetKind())
	case r.Name != "" && r.Operation != admissionv1.Connect:
		return unfit("{name} %q: is for a connection, and the operation is %s", r.Name, r.Operation)
	}
	return nil
}
