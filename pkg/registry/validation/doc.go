// Package validation has the checks that kinds of several groups share: metadata, names, quantities, selectors,
// addresses and ports. The checks are pure functions on the versioned Go types of k8s.io/api, after defaulting. The
// errors have the same paths, types, messages and order as in kube-apiserver. One check differs: EndpointIP accepts
// loopback addresses.
//
// The checks of pod specs are in package podvalidation. The checks of one kind are in the kind's file. A check that
// needs other objects, or the user of the request, belongs in an admission plugin. Custom resources are checked by
// k8s.io/apiextensions-apiserver.
package validation
