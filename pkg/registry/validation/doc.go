// Package validation has the checks that kinds of several groups share: metadata, names, quantities,
// selectors, addresses and ports. Package podvalidation has those of pods. They are pure
// functions on the versioned Go types of k8s.io/api, after defaulting, and answer with the errors that
// kube-apiserver answers with: the same paths, types, messages and order.
//
// The checks of one kind are in the kind's file. Checks that need other objects or the user belong to
// admission, and those of custom resources to k8s.io/apiextensions-apiserver.
package validation
