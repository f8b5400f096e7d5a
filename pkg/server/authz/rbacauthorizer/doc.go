// Package rbacauthorizer authorizes requests by roles and bindings
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/). It also refuses roles and bindings if their author
// would give permissions that the author lacks.
//
// The package resolves a ClusterRole's aggregationRule whenever the role is used, because a server can run without the
// controller that fills in the rules of such a role. If a controller has filled in rules, these rules apply as well.
//
// Roles and bindings are read from a [Source]. The [Authorizer] reads from shared informers, because it decides on
// every request. The [EscalationChecker] reads by a client, because it needs the latest writes.
//
// Roles can only allow. To forbid a request that roles allow, configure an authorization webhook before RBAC, or use
// admission.
package rbacauthorizer
