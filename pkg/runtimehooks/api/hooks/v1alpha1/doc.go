// Package v1alpha1 has the fields that the messages of all hooks have, and the hook Discovery, by which an
// extension lists its handlers. The group version is hooks.runtime.cluster.x-k8s.io/v1alpha1, which Cluster API
// uses too.
//
// A request of any hook except Discovery embeds CommonRequest. A response embeds CommonResponse, or CommonRetryResponse
// if its hook is blocking.
// The hooks of Cluster API are in package clusterapi.
//
// +k8s:deepcopy-gen=package
// +k8s:openapi-gen=true
package v1alpha1
