// Package groups serves the groups of a table behind a server's handler chain, and the discovery documents of their
// versions. Routes are made by the first request for a resource.
//
// [Install] is the way in. Don't use the package for custom resources, which apiextensions-apiserver routes, nor for the
// list of groups: see package discovery.
package groups
