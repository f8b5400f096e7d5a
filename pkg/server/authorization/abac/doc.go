// Package abac decides what a user may do by a file of policies, one JSON object a line
// (https://kubernetes.io/docs/reference/access-authn-authz/abac/). The file is read once, at start.
//
// The package is for setups that still have such a file. New setups should use package rbac.
package abac
