// Package conversion converts between the versions of the kinds of k8s.io/api.
//
// Each kind has one version whose Go types are the hub, and every other version
// converts to and from that. Where two versions have the same JSON, the fields are
// copied through it; where they differ, the group has a
// function, which Renamed or Different makes (apps/conversion.go). What one version can't say, it carries in the same annotations as in
// kube-apiserver.
//
// A converted object may share memory with what it was converted from, as in
// kube-apiserver. Custom resources are not converted here, but by
// k8s.io/apiextensions-apiserver.
package conversion
