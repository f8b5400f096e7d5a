// Package bootstrap has the objects that an API server creates before it is ready, if they are missing: the system
// namespaces, the default RBAC roles and bindings, the Service of the API itself, the system priority classes, the flow
// schemas and priority levels, the range of service addresses, and the ConfigMaps by which extension API servers
// authenticate requests.
//
// [Objects] and [Service] return the objects. A server with an empty store can store them directly; [Ensure] creates
// and reconciles them by requests, as kube-apiserver does.
//
// The roles admin, edit and view are stored without rules, as in kube-apiserver. They have an aggregationRule, which
// package authorization/rbac resolves whenever a role is used; no controller is needed.
package bootstrap
