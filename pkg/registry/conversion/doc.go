// Package conversion converts between the versions of the kinds of k8s.io/api.
//
// Each kind has one version that is called the hub. All other versions convert to the hub and from it. Between two
// versions with the same JSON, conversion copies the fields by their JSON names. Where the JSON differs, the group
// has a conversion function, which Renamed or Different makes (for example in apps/conversion.go), or Generated from a
// function that Kubernetes publishes. For some fields that a version doesn't have, an annotation holds the value, the
// same as in kube-apiserver.
//
// A converted object may share memory with the original, as in kube-apiserver. Don't use the package for custom
// resources: k8s.io/apiextensions-apiserver converts them.
package conversion
