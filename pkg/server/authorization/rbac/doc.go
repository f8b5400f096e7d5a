// Package rbac decides by roles and bindings what a user may do
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/), and keeps users from giving away, with a
// role or a binding, what they don't hold themselves.
//
// A ClusterRole's aggregationRule is resolved whenever the role is used: there is no controller to fill in
// its rules. Rules that one has filled in count as well.
//
// The roles and bindings are read from a [Source]: shared informers for the [Authorizer], which is asked for
// every request; a client for the [EscalationChecker], which must not miss what has just been written.
//
// Roles only allow. What nobody shall do, whatever roles say, is for an authorization webhook that is
// asked first, or for admission, to refuse.
package rbac
