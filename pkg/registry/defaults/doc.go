// Package defaults sets the defaults that kinds of several groups share: those of pods' specs, volumes and claims. It
// also has helpers for fields that aren't set. The values are kube-apiserver's.
//
// The defaults of a kind are in the kind's file, with one function for each version. The row of the kind lists the
// functions. Some of them also do the work of kube-apiserver's conversions to internal types, which miniapi doesn't
// have: stringData becomes data, and serviceAccount gets the value of serviceAccountName. Setting defaults twice
// changes nothing.
//
// Don't use the package for values that depend on other objects. Services get addresses and ports from allocators.
// Admission plugins set storage classes, priorities and tolerations.
package defaults
