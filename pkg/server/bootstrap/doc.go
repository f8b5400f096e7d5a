// Package bootstrap has the objects that an API server finds, or makes, in an empty cluster before it is
// ready: the system namespaces, the default RBAC roles and bindings, the Service of the API itself, the
// system priority classes, the flow schemas and priority levels, the range of service addresses, and the
// ConfigMaps by which extension API servers trust it.
//
// [Objects] and [Service] are the values. A server in which nothing is stored yet can store them as they are;
// [Ensure] creates and reconciles them by requests, as kube-apiserver does.
//
// The roles admin, edit and view are stored without rules, as in kube-apiserver: their aggregationRule is what
// gives them some. Package authorization/rbac resolves it whenever a role is used; no controller is needed.
package bootstrap
