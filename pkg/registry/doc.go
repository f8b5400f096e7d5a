// Package registry serves tables of kinds: the scheme that is made of a table, and the one
// strategy and the one storage that serve every row. Package builtin has the table that
// miniapi serves.
//
// A row (Kind) is all that is true of one kind: its names, versions, subresources, defaults,
// validation, update rules, printed columns, warnings and selectable fields. Rows are in the
// packages below this one, a group a package and a kind a file (apps/deployment.go). This
// package knows no kind by name.
//
// The versioned types of k8s.io/api are also the hub: there are no internal types.
// For each group the preferred version's Go types are registered a second time as
// "__internal", and every other version converts to and from them (package
// conversion).
//
// Custom resources are not rows: k8s.io/apiextensions-apiserver serves them.
package registry
