// Package defaults sets the defaults that kinds of several groups share: those of pods' specs, volumes and claims.
// It also has helpers that set a field if it isn't set. The values are kube-apiserver's.
//
// The defaults of a kind are in the kind's file, with one function for each version. registry.Kind.Defaults lists
// the functions. kube-apiserver sets some values in conversions to internal types, which miniapi doesn't have.
// Here, these functions set them: stringData becomes data, and serviceAccount gets the value of serviceAccountName.
// Setting defaults twice changes nothing.
//
// Don't use the package for values that depend on other objects. Services get addresses and ports from allocators.
// Admission plugins set storage classes, priorities and tolerations.
package defaults
