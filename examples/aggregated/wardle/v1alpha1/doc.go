// Package v1alpha1 has the types of wardle.example.com/v1alpha1.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=com.example.wardle.v1alpha1
package v1alpha1
