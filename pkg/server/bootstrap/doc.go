// Package bootstrap has the objects that an API server finds, or makes, in an empty cluster before it is
// ready: the system namespaces, the default RBAC roles and bindings, the Service of the API itself, the
// system priority classes, and the ConfigMaps by which extension API servers trust it.
//
// [Objects] are the values, [Ensure] creates and reconciles them as kube-apiserver does.
//
// The roles admin, edit and view are stored without rules, as in kube-apiserver: their aggregationRule is what
// gives them some. Package authorization/rbac resolves it whenever a role is used; no controller is needed.
package bootstrap
