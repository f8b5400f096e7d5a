// Package registry serves a table of kinds. From the table, it makes the scheme, and a strategy and a storage for
// each kind. Package builtin has the table that miniapi serves.
//
// A row of the table is a [Kind]. It describes one kind completely: names, versions, subresources, defaults,
// validation, update rules, printed columns, warnings and selectable fields. Rows are in the packages below this
// one. Each group is a package, and each kind is a file (such as apps/deployment.go). Only pods and services are
// packages of their own: core/pod and core/service. This package doesn't name any kind.
//
// A program can serve kinds of its own, alone or together with the groups of builtin.Groups. It makes a table of its groups
// with [NewTable], once, and sets it as the option Table of pkg/server. The columns, the conversions and the checks that
// rows name are made with the packages printers, conversion and validation. A row serves its kind in one of these ways:
//
//   - Objects of a kind with a List are stored in etcd.
//   - Kind.Compute computes the objects for each request.
//   - Kind.Answer answers a question, such as TokenReview.
//   - Kind.Storage returns any rest.Storage, for example one that asks another system.
//
// kube-apiserver converts between versions by internal Go types. This package has none: for each kind, the Go type
// of one version is registered a second time as "__internal", and is called the hub. Every other version converts
// to the hub and from it (see package conversion). The server handles and stores objects as the hub.
//
// Don't use the package for custom resources: k8s.io/apiextensions-apiserver serves them.
package registry
