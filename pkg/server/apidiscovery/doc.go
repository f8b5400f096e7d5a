// Package apidiscovery keeps the groups that a server lists at /apis, in the order of their priorities. The groups come
// from the server's table, from custom resource definitions and from other servers. Clients get the groups with or
// without aggregated discovery.
//
// [NewList] makes the list, and [NewManager] makes the aggregated discovery. [NewGroups] keeps both up to date. Don't
// use the package for the document of a version: see package groups. Don't use it to discover other servers: see
// packages aggregation and peers.
package apidiscovery
