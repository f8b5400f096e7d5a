// Package rbac decides by roles and bindings what a user may do
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/). It also refuses roles and bindings by which a user
// would give permissions that the user lacks.
//
// A ClusterRole's aggregationRule is resolved whenever the role is used, because no controller fills in its rules. If a
// controller has filled in rules, they count as well.
//
// Roles and bindings are read from a [Source]. The [Authorizer] uses shared informers, because it is asked for every
// request. The [EscalationChecker] uses a client, because it must see the latest writes.
//
// Roles can only allow. To forbid something whatever roles say, use an authorization webhook that is asked first, or
// admission.
package rbac
