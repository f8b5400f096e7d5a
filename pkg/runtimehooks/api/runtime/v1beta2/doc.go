// Package v1beta2 has ExtensionConfig, the object by which an administrator registers an extension. The group
// version is runtime.cluster.x-k8s.io/v1beta2. Objects are stored in this version. Package v1alpha1 has the older
// version and the conversion.
//
// +k8s:deepcopy-gen=package
package v1beta2
