// Package defaults fills what a client left out of an object: for each kind and
// version a function that changes the object in place, with the values that
// kube-apiserver sets. The rows of package registry name them.
//
// The types of k8s.io/api come without defaulting functions, and they are also
// miniapi's hub types. That is why some functions here do a little more than
// defaulting: where kube-apiserver's conversion to its internal types changes an
// object (stringData becomes data, serviceAccount follows serviceAccountName),
// the function of the kind does it.
//
// The functions of the versions that a group prefers carry the kind's name alone
// (Deployment); those of other versions have the group and version in front
// (AppsV1beta1Deployment). Setting defaults twice changes nothing.
//
// Not here: what depends on more than the object itself. Addresses and ports are
// allocated, and storage classes, priorities and tolerations are set by
// admission.
package defaults
