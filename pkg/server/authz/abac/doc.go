// Package abac authorizes requests by a file of policies
// (https://kubernetes.io/docs/reference/access-authn-authz/abac/). Each line of the file is a JSON
// object. The server reads the file once, at its start.
//
// The package is for setups that still have such a file. New setups should use package rbacauthorizer.
package abac
