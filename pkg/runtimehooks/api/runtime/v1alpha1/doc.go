// Package v1alpha1 has the older version of ExtensionConfig, and its conversion to v1beta2 and back. The group version
// is runtime.cluster.x-k8s.io/v1alpha1, which is deprecated. Code that reads or writes ExtensionConfigs uses v1beta2.
//
// +k8s:deepcopy-gen=package
package v1alpha1
