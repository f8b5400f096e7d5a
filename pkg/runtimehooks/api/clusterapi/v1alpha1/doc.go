// Package v1alpha1 has the hooks of Cluster API v1.14 as examples: for authors who test extensions without Cluster
// API, and for authors who define hooks of their own.
//
// The names, the fields and the paths are Cluster API's. Clusters, Machines and the objects of providers
// have the type runtime.RawExtension. An extension decodes their field Raw into a type of its choice: Cluster of
// sigs.k8s.io/cluster-api, a struct with a few fields, or unstructured.Unstructured. A program that already imports
// Cluster API can use Cluster API's own package instead: the messages of the two packages are the same on the wire.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
package v1alpha1
