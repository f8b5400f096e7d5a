// Package abac decides by a file of policies, one JSON object a line, what a user may do
// (https://kubernetes.io/docs/reference/access-authn-authz/abac/). The file is read once, at start.
//
// It is here for setups that still have such a file. Package rbac is what to use otherwise.
package abac
