// Package validation says what is wrong with an object of the Kubernetes API.
//
// There is a function for each kind and occasion: X for an object that is created,
// XUpdate for one that replaces another, and XStatusUpdate where a change of status is
// checked beyond the metadata. They are pure functions on the versioned Go types of
// k8s.io/api (the hub version of each kind), after defaulting, and answer with the
// errors that kube-apiserver answers with: the same paths, types, messages and order.
//
// It is not for objects as they were sent, which have no defaults yet; for checks that
// need other objects or the user, which belong to admission; nor for custom resources,
// whose schemas k8s.io/apiextensions-apiserver applies.
package validation
