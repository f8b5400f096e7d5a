// Package groups serves the groups of a registry.Table and the discovery documents of their versions, after the filters
// of a server's handler chain. The first request for a resource makes the routes of the resource.
//
// [Install] is the constructor. Don't use the package for custom resources: see package customresources. Don't use it
// for the list of groups: see package apidiscovery.
package groups
