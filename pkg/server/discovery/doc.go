// Package discovery keeps the groups that a server lists at /apis: those of its table, of custom resource definitions
// and of other servers, in the order of their priorities, for clients with and without aggregated discovery.
//
// [NewList] makes the list, [NewManager] the aggregated discovery, and [NewGroups] keeps both up to date. Don't use
// the package for the document of a version: see package groups. Don't use it to discover other servers: see packages
// aggregation and peers.
package discovery
