// Package v1beta1 has the types of wardle.example.com/v1beta1.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=com.example.wardle.v1beta1
package v1beta1
