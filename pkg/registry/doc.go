// Package registry serves tables of kinds: the scheme made from a table, and the one
// strategy and the one storage that serve every row. Builtin is the table that miniapi serves.
//
// A row (Kind) names a resource, its versions, subresources, defaults, validation,
// selectable fields and printed columns. Adding a kind is adding a row to the file
// of its API group; a kind that needs code of its own says so in its row.
//
// The versioned types of k8s.io/api are also the hub: there are no internal types.
// For each group the preferred version's Go types are registered a second time as
// "__internal", and every other version converts to and from them (package
// conversion).
//
// Custom resources are not rows: k8s.io/apiextensions-apiserver serves them.
package registry
