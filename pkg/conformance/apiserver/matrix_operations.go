package apiserver

import (
	"net/http"

	"github.com/miniapi-dev/miniapi/pkg/conformance/apiserver/trial"
)

// operation is a kind of request that admission reviews: a column of the matrix.
type operation struct {
	// name is the last part of the identifiers of cases. says describes the request.
	name, says string
	// admitted is the operation in the review. It is also the operation in the rules of webhooks.
	admitted string
	// resource is the resource of the request. If it has no version, the case defines a custom resource. sub has the
	// subresource of the request, and the kind of its objects if they have another kind than those of the resource.
	resource, sub trial.Resource
	// verb, contentType and query are parts of the request. The query of a connection has the fields of the object in
	// the review.
	verb, contentType string
	query             []string
	// sends returns the fields that the object in the review must have. Except in a connection, they are in the body of
	// the request. It is nil for a DELETE.
	sends func(*cell) trial.Object
	// objects is the number of objects of a collection, or 0 for a request for one object.
	objects int
	// trail is the path of a field of the object to which mutating webhooks append digits. If numeric is true, the field
	// is a number. begin is the value in the request.
	trail, begin string
	numeric      bool
	// labels has a value of the label opt for each object in the review: new, old, or "" for an object without the label.
	labels []string
	// identity has the codes of the answers after a patch of each of the fields in identityPaths.
	identity []int
	// readBack says that clients can read the object of the review after the request.
	readBack bool
}

// noted is the field for digits in an object that has no other field for any text.
const noted = "metadata.annotations.trail"

// operations has the columns of the matrix, in the order of reports.
var operations = []*operation{
	{name: "create", says: "POST of an object", admitted: "CREATE", resource: trial.ConfigMaps,
		verb: http.MethodPost, sends: (*cell).sample, trail: "data.trail", labels: []string{"new"}, readBack: true,
		identity: identityOfCreate},
	{name: "applyCreates", says: "apply of an object that doesn't exist", admitted: "CREATE", resource: trial.ConfigMaps,
		verb: http.MethodPatch, contentType: trial.ApplyPatch, query: forced, sends: (*cell).sample,
		trail: "data.trail", labels: []string{"new"}, readBack: true, identity: identityOfCreate},
	{name: "update", says: "PUT of an object", admitted: "UPDATE", resource: trial.ConfigMaps,
		verb: http.MethodPut, sends: (*cell).sample, trail: "data.trail", labels: newAndOld, readBack: true, identity: identityOfUpdate},
	{name: "json", says: "JSON patch", admitted: "UPDATE", resource: trial.ConfigMaps,
		verb: http.MethodPatch, contentType: trial.JSONPatch, sends: fields(relabelled), trail: "data.trail",
		labels: newAndOld, readBack: true, identity: identityOfUpdate},
	{name: "merge", says: "merge patch", admitted: "UPDATE", resource: trial.ConfigMaps,
		verb: http.MethodPatch, contentType: trial.MergePatch, sends: fields(relabelled), trail: "data.trail",
		labels: newAndOld, readBack: true, identity: identityOfUpdate},
	{name: "strategic", says: "strategic merge patch", admitted: "UPDATE", resource: trial.ConfigMaps,
		verb: http.MethodPatch, contentType: trial.StrategicPatch, sends: fields(relabelled), trail: "data.trail",
		labels: newAndOld, readBack: true, identity: identityOfUpdate},
	{name: "apply", says: "apply of an object that exists", admitted: "UPDATE", resource: trial.ConfigMaps,
		verb: http.MethodPatch, contentType: trial.ApplyPatch, query: forced, sends: (*cell).sample,
		trail: "data.trail", labels: newAndOld, readBack: true, identity: identityOfUpdate},
	{name: "delete", says: "DELETE of an object", admitted: "DELETE", resource: trial.ConfigMaps,
		verb: http.MethodDelete, labels: []string{"old"}},
	{name: "deletecollection", says: "DELETE of a collection", admitted: "DELETE", resource: trial.ConfigMaps,
		verb: http.MethodDelete, query: []string{own}, objects: 2, labels: []string{"old"}},
	{name: "connect", says: "connection to a pod that doesn't exist", admitted: "CONNECT", resource: trial.Pods, sub: trial.Resource{Subresource: "exec", Kind: "PodExecOptions", KindVersion: "v1"},
		verb: http.MethodPost, query: []string{"command=ls", "stdout=true"},
		sends: fields(trial.Object{"command": []string{"ls"}, "stdout": true}), trail: "container",
		identity: []int{500, 500, 500, 500, 500, 404, 500}},
	{name: "status", says: "PUT of the status of a Deployment", admitted: "UPDATE", resource: trial.Deployments, sub: trial.Resource{Subresource: "status"},
		verb: http.MethodPut, sends: (*cell).counted, trail: "status.observedGeneration", numeric: true,
		labels: []string{"old", "old"}, readBack: true, identity: identityOfUpdate},
	{name: "scale", says: "merge patch of the scale of a Deployment", admitted: "UPDATE", resource: trial.Deployments, sub: trial.Resource{Subresource: "scale", Kind: "Scale", KindGroup: "autoscaling", KindVersion: "v1"},
		verb: http.MethodPatch, contentType: trial.MergePatch, sends: fields(trial.Object{"spec": trial.Object{"replicas": 1}}),
		trail: "spec.replicas", begin: "1", numeric: true, labels: []string{"", ""}, readBack: true,
		identity: []int{200, 200, 500, 500, 409, 200, 200}},
	{name: "eviction", says: "POST of the eviction of a pod", admitted: "CREATE", resource: trial.Pods, sub: trial.Resource{Subresource: "eviction", Kind: "Eviction", KindGroup: "policy", KindVersion: "v1"},
		verb: http.MethodPost, sends: posts(trial.Object{"deleteOptions": trial.Object{"gracePeriodSeconds": 7}}),
		trail: noted, labels: []string{"new"}, identity: []int{400, 201, 500, 500, 201, 201, 201}},
	{name: "binding", says: "POST of the binding of a pod", admitted: "CREATE", resource: trial.Pods, sub: trial.Resource{Subresource: "binding", Kind: "Binding", KindVersion: "v1"},
		verb:  http.MethodPost,
		sends: posts(trial.Object{"target": trial.Object{"kind": "Node", "name": "conformance-none"}}), trail: noted,
		labels: []string{"new"}, identity: []int{400, 201, 500, 500, 409, 201, 201}},
	{name: "token", says: "POST of a request for the token of a service account", admitted: "CREATE", resource: trial.ServiceAccounts, sub: trial.Resource{Subresource: "token", Kind: "TokenRequest", KindGroup: "authentication.k8s.io", KindVersion: "v1"},
		verb: http.MethodPost, sends: posts(trial.Object{"spec": trial.Object{"audiences": []string{"conformance"}}}),
		trail: noted, labels: []string{"new"}, identity: []int{422, 422, 500, 500, 409, 201, 201}},
	{name: "custom", says: "POST of a custom resource", admitted: "CREATE",
		verb: http.MethodPost, sends: (*cell).sample, trail: "spec.trail", labels: []string{"new"}, readBack: true,
		identity: []int{201, 400, 422, 500, 201, 201, 201}},
	{name: "customStatus", says: "merge patch of the status of a custom resource", admitted: "UPDATE", sub: trial.Resource{Subresource: "status"},
		verb: http.MethodPatch, contentType: trial.MergePatch,
		sends: fields(trial.Object{"status": trial.Object{"made": "second"}}), trail: "status.trail",
		labels: []string{"old", "old"}, readBack: true, identity: []int{200, 400, 200, 500, 200, 200, 200}},
	{name: "cluster", says: "POST of an object without a namespace", admitted: "CREATE", resource: trial.ClusterRoles,
		verb: http.MethodPost, sends: (*cell).sample, trail: noted, labels: []string{"new"}, readBack: true,
		identity: []int{201, 201, 500, 500, 201, 201, 201}},
}

var (
	// identityOfCreate and identityOfUpdate are the values of operation.identity for most objects.
	identityOfCreate, identityOfUpdate = []int{201, 400, 500, 500, 201, 201, 201}, []int{422, 400, 500, 500, 422, 200, 200}
	// forced is the query of an apply.
	forced = []string{"fieldManager=tester", "force=true"}
	// newAndOld are the labels of an update that changes the label.
	newAndOld = []string{"new", "old"}
	// relabelled are the fields in a patch of a ConfigMap.
	relabelled = trial.Object{"metadata": trial.Object{"labels": trial.Object{"opt": "new"}}, "data": trial.Object{"made": "second"}}
)

// served is the need for the resource of the operation.
func (o *operation) served() trial.Need {
	if o.resource.Version == "" {
		return trial.Serves(trial.Definitions)
	}
	return trial.Serves(o.resource.Sub(o.sub.Subresource))
}

// creates reports whether the request creates the object, so that the object doesn't exist before.
func (o *operation) creates() bool {
	return o.admitted == "CONNECT" || o.admitted == "CREATE" && o.sub.Subresource == ""
}

// hasOld reports whether the review has the existing object as oldObject.
func (o *operation) hasOld() bool { return o.admitted == "UPDATE" || o.admitted == "DELETE" }

// options is the kind of the options in the review, or "" if the review has none.
func (o *operation) options() string {
	return map[string]string{"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}[o.admitted]
}

// fields returns a function for operation.sends that returns the same fields for each case.
func fields(o trial.Object) func(*cell) trial.Object {
	return func(*cell) trial.Object { return o.Copy() }
}

// posts returns a function for operation.sends that returns an object of a subresource.
func posts(content trial.Object) func(*cell) trial.Object {
	return func(c *cell) trial.Object {
		o := c.Object(c.target, c.names[0]).WithLabel("opt", "new").With(noted, "")
		for field, value := range content {
			o[field] = value
		}
		return o.Copy()
	}
}

// sample returns the object that the request creates, or by which it replaces the existing object.
func (c *cell) sample() trial.Object { return c.of(c.names[0], "new", "second") }

// counted returns the existing Deployment with another status. The server sets the managed fields.
func (c *cell) counted() trial.Object {
	return c.old[0].With("status.collisionCount", 3).Without("metadata.managedFields")
}

// of returns an object of the resource that a case may create, with a value of the label opt.
func (c *cell) of(name, label, made string) trial.Object {
	o := c.Object(c.whole, name).WithLabel("opt", label)
	switch c.whole.Name {
	case trial.ConfigMaps.Name:
		o["data"] = trial.Object{"made": made, "trail": ""}
	case trial.Pods.Name:
		o["spec"] = template()
	case trial.Deployments.Name: // controllers create no pods for a Deployment that is paused from its creation on
		o["spec"] = deployment(c.T, name).With("spec.paused", true)["spec"]
	case trial.ClusterRoles.Name:
		return o.With(noted, "")
	case things:
		o["spec"] = trial.Object{"made": made, "trail": ""}
	}
	return o.Copy()
}
