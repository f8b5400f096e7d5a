// Package rbac decides by roles and bindings what a user may do
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/). It also refuses roles and bindings if their author
// would give permissions that the author lacks.
//
// A ClusterRole's aggregationRule is resolved whenever the role is used, because no controller fills in its rules. If a
// controller has filled in rules, they count as well.
//
// Roles and bindings are read from a [Source]. The [Authorizer] reads from shared informers, because it decides on
// every request. The [EscalationChecker] reads by a client, because it must see the latest writes.
//
// Roles can only allow. To forbid a request that roles allow, configure an authorization webhook before RBAC, or use
// admission.
package rbac
