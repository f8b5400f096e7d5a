// Package bootstrap has the objects that an API server creates before it is ready, if they are missing: the system
// namespaces, the default RBAC roles and bindings, the Service of the API itself, the system priority classes, the flow
// schemas and priority levels, the range of service addresses, the ConfigMap by which extension API servers authenticate
// requests, and the ConfigMap with the date since which servers record the use of legacy tokens.
//
// [Objects] and [Service] return the objects. A server with an empty store can store them directly; [Ensure] creates
// and reconciles them by requests, as kube-apiserver does.
//
// As in kube-apiserver, the roles admin, edit and view have no rules, unless Config.Aggregated is set. They have an
// aggregationRule. Package authz/rbacauthorizer resolves this rule whenever a role is used, so the roles also work
// without a controller that fills in their rules.
package bootstrap
