// Package defaults sets the defaults that kinds of several groups share: the defaults of pod specs, volumes and
// claims. It also has helpers that set a field if it isn't set. The values are kube-apiserver's.
//
// The defaults of a kind are in the kind's file, with one function for each version. registry.Kind.Defaults lists
// the functions. They also set values that kube-apiserver sets in conversions to its internal types, which miniapi
// doesn't have: stringData becomes data, and serviceAccount gets the value of serviceAccountName. Setting defaults
// twice changes nothing.
//
// Don't use the package for values that depend on other objects. Services get addresses and ports from allocators.
// Admission plugins set storage classes, priorities and tolerations.
package defaults
