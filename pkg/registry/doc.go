// Package registry serves tables of kinds. It makes the scheme of a table, and has the strategy and the storage that
// serve every row. Package builtin has the table that miniapi serves.
//
// A row (Kind) describes one kind completely: names, versions, subresources, defaults, validation, update rules,
// printed columns, warnings and selectable fields. Rows are in the packages below this one. Each group is a package,
// and each kind is a file (apps/deployment.go). This package knows no kind by name.
//
// There are no internal types. The versioned types of k8s.io/api are also the hub: the preferred version's Go types are
// registered a second time as "__internal". Every other version converts to the hub and from it (package conversion).
//
// Don't use the package for custom resources: k8s.io/apiextensions-apiserver serves them.
package registry
