package recorder

import (
	"slices"

	"github.com/miniapi-dev/miniapi/pkg/miniapitest/trace"
)

// Filter selects requests. Its zero value selects all.
type Filter struct {
	// Resource is the name of a resource, such as pods, deployments.apps or pods/status. If the name has no group or no
	// subresource, every group or subresource is selected.
	Resource string
	// Namespace and Name are the namespace and the name of the object. If one is empty, every value is selected.
	Namespace, Name string
	// User is the name of the user that made the request. If it is empty, the requests of all users are selected.
	User string
	// Writes leaves out requests that only read; see trace.Request.Reads.
	Writes bool
	// Last limits the selection to this number of the most recent requests. 0 is no limit.
	Last int
}

func (f Filter) selects(r *trace.Request) bool {
	return (!f.Writes || !r.Reads()) && (f.User == "" || f.User == r.User.Name) && f.selectsResource(r.Resource) && f.selectsObject(r)
}

func (f Filter) selectsResource(r trace.Resource) bool {
	withoutGroup, withoutSubresource, plain := r, r, r
	withoutGroup.Group, withoutSubresource.Subresource, plain.Group, plain.Subresource = "", "", "", ""
	switch f.Resource {
	case "", r.String(), withoutGroup.String(), withoutSubresource.String(), plain.String():
		return true
	}
	return false
}

// selectsObject reports whether the filter selects a request by its object. The filter selects a deletecollection
// if it selects one of the deleted objects.
func (f Filter) selectsObject(r *trace.Request) bool {
	if f.Namespace == "" && f.Name == "" {
		return true
	}
	return f.names(r.Namespace, r.Name) || slices.ContainsFunc(r.Admissions, func(a *trace.Admission) bool { return f.names(a.Namespace, a.Name) })
}

// names reports whether the filter selects the object with the namespace and the name.
func (f Filter) names(namespace, name string) bool {
	return (f.Namespace == "" || f.Namespace == namespace) && (f.Name == "" || f.Name == name)
}

// Narrowed returns a deletecollection with only the passes for the objects that the filter selects. It returns any other
// request unchanged, because all passes of the request are for the same object.
func (f Filter) Narrowed(r *trace.Request) *trace.Request {
	if r.Verb != "deletecollection" {
		return r
	}
	narrowed := *r
	narrowed.Admissions = slices.DeleteFunc(slices.Clone(r.Admissions), func(a *trace.Admission) bool { return !f.names(a.Namespace, a.Name) })
	return &narrowed
}
