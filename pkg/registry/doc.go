// Package registry serves a table of kinds. From the table, it makes the scheme, and a strategy and a storage for
// each kind. Package builtin has the table that miniapi serves.
//
// A row of the table is a [Kind]. It describes one kind completely: names, versions, subresources, defaults,
// validation, update rules, printed columns, warnings and selectable fields. Rows are in the packages below this
// one. Each group is a package, and each kind is a file (such as apps/deployment.go). Only pods and services are
// packages of their own: core/pod and core/service. This package doesn't name any kind.
//
// kube-apiserver converts between versions by internal Go types. This package has none: for each kind, the Go type
// of one version is registered a second time as "__internal", and is called the hub. Every other version converts
// to the hub and from it (see package conversion). The server handles and stores objects as the hub.
//
// Don't use the package for custom resources: k8s.io/apiextensions-apiserver serves them.
package registry
