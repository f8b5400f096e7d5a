package review

import (
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// served is a resource or a subresource of the server.
type served struct {
	schema.GroupVersionResource
	subresource string
	// kind is the kind of the body of a request.
	kind       schema.GroupVersionKind
	namespaced bool
	verbs      []string
}

// String returns the name of the resource or subresource in the form of a webhook's rule, such as pods/exec.
func (s served) String() string {
	if s.subresource == "" {
		return s.GroupResource().String()
	}
	return s.GroupResource().String() + "/" + s.subresource
}

// connects tells whether requests for the subresource are connections, with options such as PodExecOptions.
func (s served) connects() bool {
	return s.subresource != "" && strings.HasSuffix(s.kind.Kind, "Options")
}

// operations returns the admission operations, such as CREATE, that the resource or subresource supports.
func (s served) operations() []string {
	if s.connects() {
		return []string{string(admissionv1.Connect)}
	}
	var all []string
	for _, each := range []struct {
		operation admissionv1.Operation
		verbs     []string
	}{
		{admissionv1.Create, []string{"create"}}, {admissionv1.Update, []string{"update", "patch"}}, {admissionv1.Delete, []string{"delete"}},
	} {
		if slices.ContainsFunc(each.verbs, func(verb string) bool { return slices.Contains(s.verbs, verb) }) {
			all = append(all, string(each.operation))
		}
	}
	return all
}

// catalog has all resources and subresources of the server.
type catalog []served

func newCatalog(lists []*metav1.APIResourceList) catalog {
	var all catalog
	for _, list := range lists {
		groupVersion, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // no request can name a version that can't be parsed
		}
		for _, listed := range list.APIResources {
			name, subresource, _ := strings.Cut(listed.Name, "/")
			all = append(all, served{
				groupVersion.WithResource(name), subresource,
				schema.GroupVersionKind{Group: cmp.Or(listed.Group, groupVersion.Group), Version: cmp.Or(listed.Version, groupVersion.Version), Kind: listed.Kind},
				listed.Namespaced, listed.Verbs,
			})
		}
	}
	slices.SortFunc(all, func(a, b served) int { // discovery has no order of groups
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.subresource, b.subresource), -version.CompareKubeAwareVersionStrings(a.Version, b.Version))
	})
	return all
}

// resource returns the resource of a kind.
func (c catalog) resource(kind schema.GroupVersionKind) (served, bool) {
	i := slices.IndexFunc(c, func(s served) bool { return s.subresource == "" && s.kind == kind })
	if i < 0 {
		return served{}, false
	}
	return c[i], true
}

// subresources returns the subresources for which the function fit returns true: subresources of the resource in the
// argument of, or of all resources if the argument of is nil.
func (c catalog) subresources(of *served, fit func(served) bool) []served {
	var found []served
	for _, s := range c {
		if s.subresource != "" && (of == nil || s.GroupVersionResource == of.GroupVersionResource) && fit(s) {
			found = append(found, s)
		}
	}
	return found
}

// target is the resource or subresource of a request.
type target struct {
	served
	// stored is the resource of the object in --old or, without --old, of the object in -f. It is nil if that object
	// is the body of a request for a subresource, such as an Eviction.
	stored *served
}

// target finds the resource or subresource of the request by the kinds of the objects.
func (r Request) target(c catalog) (target, error) {
	if r.Old == nil {
		return r.targetOf(c, r.Objects[0])
	}
	stored, found := c.resource(r.Old.GroupVersionKind())
	if !found {
		return target{}, unknownKind("--old", r.Old)
	}
	if len(r.Objects) == 0 { // a patch doesn't name its kind
		return r.within(c, stored, &stored)
	}
	body := r.Objects[0]
	if asked, found := c.resource(body.GroupVersionKind()); found && asked.GroupResource() == stored.GroupResource() || found && body.GetKind() == r.Old.GetKind() {
		return r.within(c, asked, &stored) // the resource may be served in another version
	}
	fitting := c.subresources(&stored, func(s served) bool {
		return s.kind.Kind == body.GetKind() && (r.Subresource == "" || r.Subresource == s.subresource)
	})
	if len(fitting) == 1 {
		return target{fitting[0], &stored}, nil
	}
	return target{}, unfit("-f has a %s, and --old a %s: both must be of one kind, or -f must be of a subresource of %s: %s",
		body.GetKind(), r.Old.GetKind(), stored, c.namesOf(stored))
}

// targetOf finds the target of a request with one object.
func (r Request) targetOf(c catalog, body *unstructured.Unstructured) (target, error) {
	resource, found := c.resource(body.GroupVersionKind())
	if found && (r.Subresource == "" || len(c.subresources(&resource, r.named)) > 0) {
		return r.within(c, resource, &resource)
	}
	fitting := c.subresources(nil, func(s served) bool {
		return s.kind == body.GroupVersionKind() && (r.Subresource == "" || r.named(s))
	})
	switch {
	case len(fitting) == 1:
		return target{fitting[0], nil}, nil
	case len(fitting) > 1:
		var names []string
		for _, s := range fitting {
			names = append(names, s.String())
		}
		return target{}, unfit("-f: a %s may be of %s: give --old too, with the stored object", body.GetKind(), orList(names))
	case found:
		return r.within(c, resource, &resource) // within returns an error that names the subresources
	}
	return target{}, unknownKind("-f", body)
}

func (r Request) named(s served) bool { return s.subresource == r.Subresource }

// within returns the target of a request for a resource. If the request names a subresource, the target is that
// subresource of the resource.
func (r Request) within(c catalog, resource served, stored *served) (target, error) {
	if r.Subresource == "" {
		return target{resource, stored}, nil
	}
	if found := c.subresources(&resource, r.named); len(found) > 0 {
		return target{found[0], stored}, nil
	}
	return target{}, unfit("--subresource %q: must be a subresource of %s: %s", r.Subresource, resource, c.namesOf(resource))
}

// versions returns the groups and versions in which the server has a resource or subresource with the same name and
// kind.
func (c catalog) versions(of served) []string {
	var all []string
	for _, s := range c {
		if s.Resource == of.Resource && s.subresource == of.subresource && s.kind.Kind == of.kind.Kind {
			all = append(all, s.GroupVersion().String())
		}
	}
	return all
}

// namesOf returns the names of the subresources of a resource, as a list in a text.
func (c catalog) namesOf(resource served) string {
	var names []string
	for _, s := range c.subresources(&resource, func(served) bool { return true }) {
		names = append(names, s.subresource)
	}
	slices.Sort(names)
	return cmp.Or(strings.Join(names, ", "), "none")
}

func unknownKind(flag string, object *unstructured.Unstructured) error {
	return unfit("%s: the server has no kind %s in %s: give the definition of a custom resource by --apply", flag, object.GetKind(), object.GetAPIVersion())
}

// decide sets the operation of the request if the request doesn't give an operation. It returns an error if the target
// doesn't support the operation, or if other fields of the request contradict the operation.
func (r *Request) decide(t target) error {
	possible := t.operations()
	has := func(operation admissionv1.Operation) bool { return oneOf(string(operation), possible) }
	if r.Operation == "" {
		switch {
		case t.connects():
			r.Operation = admissionv1.Connect
		case r.Collection:
			r.Operation = admissionv1.Delete
		case r.Old != nil && has(admissionv1.Update):
			r.Operation = admissionv1.Update
		case t.subresource != "" && !has(admissionv1.Create):
			r.Operation = admissionv1.Update
		default:
			r.Operation = admissionv1.Create
		}
	}
	switch {
	case !has(r.Operation):
		return unfit("--operation %s: requests for %s must have %s", r.Operation, t, cmp.Or(orList(possible), "none"))
	case r.Collection && !slices.Contains(t.verbs, "deletecollection"):
		return unfit("--collection: leave the flag out, because %s can't be deleted as a collection", t)
	case r.Operation == admissionv1.Create && t.subresource == "" && r.Old != nil:
		return unfit("--old: leave the flag out, or give --operation UPDATE, because a created object has no earlier state")
	case r.Patch != nil && r.Old == nil && r.Operation != admissionv1.Create:
		return unfit("--operation %s: give --old too, with the object that is patched", r.Operation)
	case r.Patch != nil && r.Old != nil && r.Operation != admissionv1.Update:
		return unfit("--operation %s: must be UPDATE, because --old is patched", r.Operation)
	case r.Operation == admissionv1.Create && r.Patch == nil && r.Objects[0].GetKind() != t.kind.Kind:
		return unfit("-f: %s takes the kind %s, got %s: --old has the object whose subresource it is", t, t.kind.Kind, r.Objects[0].GetKind())
	case r.Name != "" && r.Operation != admissionv1.Connect:
		return unfit("--name %q: is for a connection, and the operation is %s", r.Name, r.Operation)
	}
	return nil
}
