// Package defaults sets what kinds of several groups leave out alike: the defaults of pods'
// specs, volumes and claims, and helpers to set a field that is not set. The values are
// kube-apiserver's.
//
// The defaults of a kind are in the kind's file, one function a version, and the row names
// them. The types of k8s.io/api come without defaulting functions, and they are also
// miniapi's hub types. That is why some functions do a little more than
// defaulting: where kube-apiserver's conversion to its internal types changes an
// object (stringData becomes data, serviceAccount follows serviceAccountName),
// the function of the kind does it. Setting defaults twice changes nothing.
//
// Values that depend on more than the object are set elsewhere: addresses and ports are
// allocated, and admission sets storage classes, priorities and tolerations.
package defaults
