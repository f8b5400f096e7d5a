// Package validation has the checks that kinds of several groups share: metadata, names, quantities, selectors,
// addresses and ports. They are pure functions on the versioned Go types of k8s.io/api, after defaulting. The errors
// are those of kube-apiserver: the same paths, types, messages and order.
//
// Don't use the package for pods: see package podvalidation. The checks of one kind are in the kind's file. Checks that
// need other objects or the user belong in admission plugins. k8s.io/apiextensions-apiserver checks custom resources.
package validation
